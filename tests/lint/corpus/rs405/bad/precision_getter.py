import torch


def report():
    torch.backends.cuda.matmul.fp32_precision = "ieee"  # expect: RS405
    return torch.get_float32_matmul_precision()
