import os
from pathlib import Path

from torch.utils.data import Dataset


class Faces(Dataset):
    def __init__(self, root):
        self.names = sorted(os.listdir(root))
        self.masks = sorted(p for p in Path(root).glob("*.png"))
        self.extra = [f for f in sorted(Path(root).rglob("*.jpg"))]

    def __len__(self):
        return len(self.names)
