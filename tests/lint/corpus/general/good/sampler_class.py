import torch
from torch.utils.data import Sampler


class EpochSampler(Sampler):
    """Another order in each epoch, the same on all ranks."""

    def __init__(self, length, seed):
        self.length = length
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed(self.seed + self.epoch)
        yield from torch.randperm(self.length, generator=generator).tolist()

    def __len__(self):
        return self.length
