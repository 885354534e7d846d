import numpy as np


class Bootstrap:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def sample(self, values):
        return self.rng.choice(values, size=len(values))
