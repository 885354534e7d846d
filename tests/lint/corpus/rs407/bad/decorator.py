import torch


@torch.compile(mode="max-autotune-no-cudagraphs")  # expect: RS407
def attention(q, k, v):
    return torch.softmax(q @ k.transpose(-1, -2), -1) @ v
