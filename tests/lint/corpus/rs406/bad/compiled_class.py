import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        with torch.random.fork_rng():  # expect: RS406
            noise = torch.randn_like(x)
        return self.fc(x + noise)


model = torch.compile(Net())
