from glob import glob

import torch
from torchvision.io import read_image


def load(folder):
    image_paths = glob(folder + "/*.png")  # expect: RS206
    return torch.stack([read_image(p) for p in image_paths])
