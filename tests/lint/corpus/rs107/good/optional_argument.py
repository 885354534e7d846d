import numpy as np


def mixup(x, y, alpha=0.2, rng=None):
    rng = rng or np.random.default_rng()
    share = rng.beta(alpha, alpha)
    order = rng.permutation(len(x))
    return share * x + (1 - share) * x[order], y, y[order]


def cutmix(x, rng=None):
    if rng is None:
        rng = np.random.default_rng()
    return x[rng.permutation(len(x))]
