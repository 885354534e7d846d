import torch


def main(args):
    if args.random:
        torch.seed()  # expect: RS106
    train(args)


def train(args):
    return torch.rand(args.size)
