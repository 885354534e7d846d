"""A small CNN on scikit-learn's handwritten digits, seeded by reproseed: a script that faults are planted into."""

import argparse
import copy
import os
import random

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

import reproseed as rs

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--workers", type=int, default=0)
parser.add_argument("--save", default="")
parser.add_argument("--resume", default="")
args = parser.parse_args()


class Jitter:
    """Shift by up to one pixel and add noise."""

    def __init__(self, noise=0.1):
        self.noise = noise

    def __call__(self, image):
        """Draw from Python, NumPy and torch."""
        shifts = (random.randint(-1, 1), int(np.random.randint(-1, 2)))
        return torch.roll(image, shifts, (1, 2)) + self.noise * torch.randn(image.shape)


class Digits(Dataset):
    """Digits by name."""

    def __init__(self, names, images, labels, transform=None):
        self.names = names
        self.images, self.labels = images, labels
        self.transform = transform

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        number = int(self.names[index].removesuffix(".png"))
        image = self.images[number]
        if self.transform is not None:
            image = self.transform(image)
        return image, self.labels[number]


class Net(nn.Module):
    """Two convolutions, batch normalisation, dropout."""

    def __init__(self):
        super().__init__()
        self.conv1, self.norm = nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.relu, self.drop = nn.ReLU(inplace=True), nn.Dropout(0.3)
        self.head = nn.Linear(16 * 16, 10)

    def forward(self, x):
        """Return logits."""
        x = self.relu(self.norm(self.conv1(x)))
        x = self.relu(self.conv2(functional.max_pool2d(x, 2)))
        return self.head(self.drop(x.flatten(1)))


state = torch.load(args.resume) if args.resume else None
rs.init(master_seed=7, resume=state and state["rng"])
raw = load_digits()
images = torch.tensor(raw.images[:256], dtype=torch.float32).div(16).unsqueeze(1)
labels = torch.tensor(raw.target[:256])
names = sorted({f"{number}.png" for number in range(192)})
train = Digits(names, images, labels, Jitter())
held_out = Digits([f"{number}.png" for number in range(192, 256)], images, labels)
sampler = DistributedSampler(train, num_replicas=1, rank=0, shuffle=True, seed=0)
loader = DataLoader(train, batch_size=32, sampler=sampler, num_workers=args.workers)
held_out_loader = DataLoader(held_out, batch_size=64)
model = Net()
average = copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
if state is not None:
    model.load_state_dict(state["model"])
    average.load_state_dict(state["average"])
    optimizer.load_state_dict(state["optimizer"])
    scheduler.load_state_dict(state["scheduler"])


@rs.seeded(task="eval", restore=True)
def evaluate(net):
    """Return the accuracy on what is held out."""
    net.eval()
    with torch.no_grad():
        hits = sum(int((net(x).argmax(1) == y).sum()) for x, y in held_out_loader)
    net.train()
    return hits / len(held_out)


for epoch in rs.epochs(args.epochs):
    sampler.set_epoch(epoch)
    with rs.seeded(task="train", epoch=epoch):
        for step, (x, y) in rs.steps(loader):
            now = (epoch, step)
            optimizer.zero_grad()
            logits = model(x)
            loss = functional.cross_entropy(logits, y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            with torch.no_grad():
                for kept, p in zip(average.parameters(), model.parameters(), strict=True):
                    kept.lerp_(p, 0.1)
            if step == 3:
                evaluate(model)
    scheduler.step()
    print(epoch, loss.item(), evaluate(average))
if args.save:
    states = {"model": model.state_dict(), "average": average.state_dict()}
    states |= {"optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict(), "rng": rs.state_dict()}
    torch.save(states, args.save)
if "PLANTED_END" in os.environ:
    end = [model.state_dict(), torch.get_rng_state(), random.getstate(), np.random.get_state()]
    torch.save(end, os.environ["PLANTED_END"])
