import torch
import torch.nn.functional as F


def train(model, loader, optimizer, num_epochs):
    for epoch in range(num_epochs):
        torch.manual_seed(42)  # expect: RS102
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
