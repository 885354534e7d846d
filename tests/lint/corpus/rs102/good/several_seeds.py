import torch

from project import build, train


def main(seeds, names):
    for seed in seeds:
        for name in names:
            torch.manual_seed(seed)
            train(build(name))
