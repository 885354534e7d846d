import os

import torch


def setup(rank):
    torch.manual_seed(os.getpid() + rank)  # expect: RS105
