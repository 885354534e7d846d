import torch


def build(net):
    return torch.compile(net, mode="max-autotune")  # expect: RS407
