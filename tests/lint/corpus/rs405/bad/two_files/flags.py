import torch


def fast():
    torch.set_float32_matmul_precision("high")
