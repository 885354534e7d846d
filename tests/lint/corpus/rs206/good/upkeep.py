import glob
import os

import torch


def prune_checkpoints(folder, keep):
    for path in glob.glob(os.path.join(folder, "*.pt"))[:-keep]:
        os.remove(path)


def latest_checkpoint(folder):
    return max(glob.glob(os.path.join(folder, "*.pt")), key=os.path.getmtime)


def resume(folder):
    return torch.load(latest_checkpoint(folder))
