import secrets

import torch


def main(args):
    seed = args.seed
    if seed is None:
        seed = secrets.randbits(32)
    print(f"seed: {seed}")
    torch.manual_seed(seed)
