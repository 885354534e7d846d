import random

import numpy as np


def split_indices(count, fraction, seed):
    np.random.seed(seed)  # expect: RS101
    order = np.random.permutation(count)
    cut = int(count * fraction)
    return order[:cut], order[cut:]


def pick_examples(items, seed):
    random.seed(seed)  # expect: RS101
    return random.sample(items, 8)
