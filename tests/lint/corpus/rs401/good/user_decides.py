import torch


def setup(args):
    torch.backends.cudnn.benchmark = not args.reproducible
    if args.seed is not None:
        torch.backends.cudnn.deterministic = True
        torch.backends.cudnn.benchmark = False
    else:
        torch.backends.cudnn.benchmark = True
