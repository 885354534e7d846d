import random

import numpy as np


def seed_libraries(value):
    random.seed(value)
    np.random.seed(value)
