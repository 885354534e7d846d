import torch
from torch.utils.data import DataLoader, WeightedRandomSampler


def balanced(dataset, labels):
    weights = 1.0 / torch.bincount(labels)[labels]
    sampler = WeightedRandomSampler(weights, len(weights))  # expect: RS202
    return DataLoader(dataset, sampler=sampler)
