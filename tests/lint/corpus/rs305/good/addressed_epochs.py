"""Each epoch is addressed by reseed, so that its number alone brings the randomness back."""

import torch

import reproseed as rs

rs.init(master_seed=1)
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(path, resume):
    first = 0
    if resume:
        checkpoint = torch.load(path)
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        first = checkpoint["epoch"]
    for epoch in range(first, 4):
        rs.reseed(1, epoch)
        optimizer.zero_grad()
        model(torch.rand(4, 2)).sum().backward()
        optimizer.step()
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1}
        torch.save(state, path)
