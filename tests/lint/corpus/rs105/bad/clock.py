import random
import time

import numpy as np
import torch


def main():
    seed = int(time.time() * 1000) % 2**32
    random.seed(seed)  # expect: RS105
    np.random.seed(seed)  # expect: RS105
    torch.manual_seed(seed)  # expect: RS105
    train()


def train():
    return torch.randn(3)
