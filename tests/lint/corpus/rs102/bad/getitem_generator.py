import numpy as np
from torch.utils.data import Dataset


class Spectrograms(Dataset):
    def __init__(self, arrays):
        self.arrays = arrays

    def __len__(self):
        return len(self.arrays)

    def __getitem__(self, index):
        rng = np.random.default_rng(0)  # expect: RS102
        start = rng.integers(0, 100)
        return self.arrays[index][start : start + 400]
