import torch


@torch.compile(fullgraph=True)
def noise_step(x):
    torch.manual_seed(7)  # expect: RS406
    return x + torch.randn_like(x)
