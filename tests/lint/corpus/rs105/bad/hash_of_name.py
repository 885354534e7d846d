import numpy as np


class Noise:
    def __init__(self, name, scale):
        self.rng = np.random.default_rng(abs(hash(name)) % 2**32)  # expect: RS105
        self.scale = scale
