import torch

torch.backends.cudnn.benchmark = True  # expect: RS401
model = torch.nn.Conv2d(3, 8, 3)
