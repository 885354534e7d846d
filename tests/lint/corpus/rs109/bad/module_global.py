import torch

_NOISE = torch.Generator().manual_seed(0)  # expect: RS109


def jitter(points):
    return points + 0.01 * torch.randn(points.shape, generator=_NOISE)
