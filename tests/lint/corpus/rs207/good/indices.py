import torch
from torch.utils.data import Subset


def split(dataset, val_indices):
    train_indices = list(set(range(len(dataset))) - set(val_indices))
    return Subset(dataset, train_indices), torch.tensor(sorted(val_indices))
