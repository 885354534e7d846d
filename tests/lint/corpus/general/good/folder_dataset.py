import os
from pathlib import Path

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Folder(Dataset):
    def __init__(self, root, transform=None):
        self.root = Path(root)
        self.classes = sorted(e.name for e in os.scandir(root) if e.is_dir())
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        self.samples = []
        for name in self.classes:
            for path in sorted((self.root / name).glob("*.jpg")):
                self.samples.append((path, self.class_to_idx[name]))
        self.transform = transform

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        image = Image.open(path).convert("RGB")
        return (self.transform(image) if self.transform else image), torch.tensor(label)


def build(root, seed):
    order = torch.Generator()
    order.manual_seed(seed)
    return DataLoader(Folder(root), batch_size=32, shuffle=True, generator=order, num_workers=4)
