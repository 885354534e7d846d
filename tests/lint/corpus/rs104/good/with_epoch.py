import numpy as np


class Worker:
    def __init__(self, seed):
        self.seed = seed
        self.epoch = 0

    def worker_init_fn(self, worker_id):
        np.random.seed((self.seed + 1000 * self.epoch + worker_id) % 2**32)
