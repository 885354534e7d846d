import torch


def main(args):
    if args.cuda:
        torch.cuda.manual_seed(args.seed)  # expect: RS110
    return torch.nn.Linear(2, 2).cuda()
