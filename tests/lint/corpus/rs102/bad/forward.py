import torch
from torch import nn


class NoisyLinear(nn.Linear):
    def forward(self, x):
        torch.manual_seed(self.noise_seed)  # expect: RS102
        weight = self.weight + 0.1 * torch.randn_like(self.weight)
        return nn.functional.linear(x, weight, self.bias)
