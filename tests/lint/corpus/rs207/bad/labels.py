import torch
from torch.utils.data import Dataset


class Sounds(Dataset):
    def __init__(self, rows):
        self.rows = rows
        self.classes = list({row["label"] for row in rows})  # expect: RS207

    def __getitem__(self, index):
        return torch.tensor(self.classes.index(self.rows[index]["label"]))
