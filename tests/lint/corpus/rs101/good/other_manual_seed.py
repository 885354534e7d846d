import numpy as np
import torch


class Config:
    seed = 3

    def manual_seed(self, value):
        self.seed = value


def build(config):
    config.manual_seed(5)
    rng = np.random.default_rng(config.seed)
    generator = torch.Generator().manual_seed(config.seed)
    return torch.randperm(10, generator=generator), rng.permutation(10)
