import numpy as np


def add_noise(x, scale=0.1, rng=np.random.default_rng(0)):  # expect: RS109
    return x + scale * rng.normal(size=x.shape)
