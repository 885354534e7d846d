from pathlib import Path

import torch


def class_folders(root):
    classes = [d.name for d in Path(root).iterdir() if d.is_dir()]  # expect: RS206
    return {name: torch.tensor(i) for i, name in enumerate(classes)}
