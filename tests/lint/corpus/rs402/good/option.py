import torch
import reproseed as rs


def main(args):
    torch.use_deterministic_algorithms(args.deterministic)
    if not args.deterministic:
        torch.backends.cudnn.deterministic = False
    with rs.deterministic("off"):
        return torch.rand(3).cumsum(0)
