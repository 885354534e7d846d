import random

import torch

SEED = 17


def collate_with_masks(samples):
    random.seed(SEED)  # expect: RS102
    masks = [[random.random() < 0.15 for _ in s] for s in samples]
    return torch.stack(samples), torch.tensor(masks)
