import random

BASE = 100


def worker_init_fn(worker_id):
    random.seed(BASE + worker_id)  # expect: RS104
