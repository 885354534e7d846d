import os

import torch
from torch.utils.data import Dataset


class Clips(Dataset):
    def __init__(self, root):
        self.samples = []
        for folder, _, files in os.walk(root):
            self.samples.extend(os.path.join(folder, f) for f in files)
        self.samples.sort()

    def __getitem__(self, index):
        return torch.load(self.samples[index])
