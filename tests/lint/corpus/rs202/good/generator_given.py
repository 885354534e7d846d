import torch
from torch.utils.data import RandomSampler, SubsetRandomSampler, random_split


def split(dataset, seed):
    generator = torch.Generator().manual_seed(seed)
    train, val = random_split(dataset, [0.8, 0.2], generator)
    return RandomSampler(train, generator=generator), SubsetRandomSampler(range(9), generator), val
