from torch.backends import cudnn


def setup(args):
    if args.cuda:
        cudnn.enabled = True
        cudnn.benchmark = True  # expect: RS401
