import torch

torch.use_deterministic_algorithms(False)  # expect: RS402
