import numpy as np
from torch.utils.data import Dataset


class Audio(Dataset):
    def __init__(self, clips):
        self.clips = clips
        self.rng = np.random.default_rng()  # expect: RS107

    def __getitem__(self, index):
        return self.clips[index] * self.rng.uniform(0.8, 1.2)
