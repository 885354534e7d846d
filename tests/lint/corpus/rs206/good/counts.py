import os
from pathlib import Path

import torch


def describe(image_dir):
    count = len(os.listdir(image_dir))
    kinds = {p.suffix for p in Path(image_dir).iterdir()}
    empty = not any(Path(image_dir).iterdir())
    return torch.tensor(count), kinds, empty
