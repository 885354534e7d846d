"""Two small trainings that the tests of the tracer run in this process: a CNN and a transformer, with augmentation."""

from __future__ import annotations

import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import reproseed as rs


class Noisy(Dataset):
    """Items with noise from all three libraries."""

    def __init__(self, shape):
        generator = torch.Generator().manual_seed(0)
        self.items = torch.rand((24, *shape), generator=generator)
        self.targets = torch.arange(24) % 3

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        noise = random.random() + np.random.normal() + torch.randn(self.items.shape[1:])
        return self.items[index] + 0.1 * noise, self.targets[index]


class Cnn(nn.Module):
    """Convolution, batch normalisation, dropout."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.relu = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True)
        self.drop, self.head = nn.Dropout(0.5), nn.Linear(4 * 16, 3)

    def forward(self, x):
        return self.head(self.drop(self.relu(self.norm(self.conv(x))).flatten(1)))


class Transformer(nn.Module):
    """One layer of attention."""

    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.layer(x).mean(1))


SHAPES = {"cnn": (1, 6, 6), "transformer": (5, 8)}


def train(kind, workers=0, hurt=None, compiled=False, epochs=2):
    """Train, and return everything that has a state at the end. ``hurt`` is called in each step."""
    rs.init(master_seed=5)
    model = Cnn() if kind == "cnn" else Transformer()
    called = torch.compile(model, backend="eager") if compiled else model
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    loader = DataLoader(Noisy(SHAPES[kind]), batch_size=8, shuffle=True, num_workers=workers)
    losses = []
    for epoch in range(epochs):
        with rs.seeded(task="train", epoch=epoch):
            for step, (x, y) in rs.steps(loader):
                if hurt is not None:
                    hurt(epoch, step, model)
                loss = nn.functional.cross_entropy(called(x), y)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                losses.append(loss.item())
        with rs.seeded(task="eval", restore=True), torch.no_grad():
            model.eval()
            losses += [model(x).sum().item() for x, _ in loader]
            model.train()
    generators = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    return losses, {k: v.tolist() for k, v in model.state_dict().items()}, generators
