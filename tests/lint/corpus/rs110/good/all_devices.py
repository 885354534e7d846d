import torch


def set_seed(seed):
    torch.manual_seed(seed)
    torch.cuda.manual_seed(seed)


def set_seed_everywhere(seed):
    torch.cuda.manual_seed_all(seed)
