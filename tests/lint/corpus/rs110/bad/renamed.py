from torch import cuda


def init_seeds(seed=0):
    cuda.manual_seed(seed)  # expect: RS110
