import torch
from torch.utils.data import DataLoader, RandomSampler


def build(dataset):
    g = torch.Generator()  # expect: RS107
    sampler = RandomSampler(dataset, generator=g)
    return DataLoader(dataset, batch_size=32, sampler=sampler)
