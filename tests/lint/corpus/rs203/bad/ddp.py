import torch
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def train(rank, dataset, model, epochs):
    sampler = DistributedSampler(dataset)  # expect: RS203
    loader = DataLoader(dataset, batch_size=32, sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
