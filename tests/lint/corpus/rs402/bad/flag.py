import torch.backends.cudnn as cudnn


def make_fast():
    cudnn.deterministic = False  # expect: RS402
