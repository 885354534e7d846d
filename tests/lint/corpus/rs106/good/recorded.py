import torch

seed = torch.seed()
print("this run is seeded with", seed)
