import torch

noise = torch.Generator(device="cpu")
noise.seed()  # expect: RS106
print(torch.randn(3, generator=noise))
