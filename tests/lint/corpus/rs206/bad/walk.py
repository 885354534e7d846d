import os

import torch
from torch.utils.data import Dataset


class Clips(Dataset):
    def __init__(self, root):
        self.clips = []
        for folder, _, files in os.walk(root):  # expect: RS206
            for name in files:
                self.clips.append(os.path.join(folder, name))

    def __getitem__(self, index):
        return torch.load(self.clips[index])
