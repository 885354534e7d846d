import numpy as np
from torch.utils.data import Dataset


class Crops(Dataset):
    def __init__(self, images, seed):
        self.images = images
        self.seed = seed
        self.epoch = 0

    def __getitem__(self, index):
        rng = np.random.default_rng([self.seed, self.epoch, index])
        left = rng.integers(0, 8)
        return self.images[index][..., left : left + 24]
