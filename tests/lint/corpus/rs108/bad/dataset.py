import numpy as np
import reproseed as rs
from torch.utils.data import Dataset


class Spots(Dataset):
    def __init__(self, images, seed):
        self.images = images
        self.rng = np.random.default_rng(seed)  # expect: RS108

    def __getitem__(self, index):
        return self.images[index] + self.rng.normal()


def main(images, seed):
    rs.init(master_seed=seed)
    for epoch in rs.epochs(3):
        with rs.seeded(task="train", epoch=epoch):
            train(Spots(images, seed))


def train(dataset):
    return [dataset[i] for i in range(len(dataset))]
