from torch.utils.data import DataLoader
import torch


def build(dataset, seed):
    generator = torch.Generator().manual_seed(seed)
    return DataLoader(dataset, batch_size=16, shuffle=True, generator=generator)
