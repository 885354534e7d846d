import torch


class Diffusion:
    def __init__(self, steps):
        self.steps = steps
        self.generator = torch.Generator().manual_seed(0)  # expect: RS108

    def noise(self, shape):
        return torch.randn(shape, generator=self.generator)
