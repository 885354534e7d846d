from torch.utils.data import random_split


def split(dataset):
    count = int(0.9 * len(dataset))
    return random_split(dataset, [count, len(dataset) - count])  # expect: RS202
