"""A small transformer on the texts of Python's own help, seeded by reproseed: faults are planted into it."""

import argparse
import os
import random
from pydoc_data.topics import topics

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import reproseed as rs

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--workers", type=int, default=0)
parser.add_argument("--save", default="")
parser.add_argument("--resume", default="")
args = parser.parse_args()
LENGTH, WIDTH = 24, 32


class Windows(Dataset):
    """Pieces of a text, one letter of each left out at random."""

    def __init__(self, text):
        self.letters = sorted(set(text))
        self.codes = [self.letters.index(letter) for letter in text]

    def __len__(self):
        return (len(self.codes) - 1) // LENGTH

    def __getitem__(self, index):
        piece = torch.tensor(self.codes[index * LENGTH : (index + 1) * LENGTH + 1])
        inputs, targets = piece[:-1].clone(), piece[1:]
        inputs[torch.randint(LENGTH, (1,))] = 0
        return inputs, targets


class Reader(nn.Module):
    """A transformer that predicts the next letter."""

    def __init__(self, letters):
        super().__init__()
        self.embed = nn.Embedding(letters, WIDTH)
        self.place = nn.Parameter(torch.randn(LENGTH, WIDTH) * 0.02)
        layer = nn.TransformerEncoderLayer(WIDTH, 2, 64, dropout=0.1, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, letters)

    def forward(self, codes):
        """Return logits for each place."""
        mask = nn.Transformer.generate_square_subsequent_mask(LENGTH)
        return self.head(self.layers(self.embed(codes) + self.place, mask=mask))


state = torch.load(args.resume) if args.resume else None
rs.init(master_seed=11, resume=state and state["rng"])
text = topics["assert"] + topics["with"]
size = LENGTH * 48 + 1
train, held_out = Windows(text[:size]), Windows(text[size : 2 * size])
held_out.letters = train.letters
held_out.codes = [train.letters.index(letter) if letter in train.letters else 0 for letter in text[size : 2 * size]]
loader = DataLoader(train, batch_size=8, shuffle=True, num_workers=args.workers)
held_out_loader = DataLoader(held_out, batch_size=24)
with rs.seeded(task="init", restore=True):
    model = Reader(len(train.letters))
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda done: min(1.0, (done + 1) / 12))
if state is not None:
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    scheduler.load_state_dict(state["scheduler"])


def evaluate():
    """Return the mean loss on what is held out."""
    model.eval()
    with torch.no_grad():
        losses = [criterion(model(x).flatten(0, 1), y.flatten()).item() for x, y in held_out_loader]
    model.train()
    return sum(losses) / len(losses)


def train_step(epoch, step, x, y):
    """Go one step; the optimizer steps at every second one."""
    now = (epoch, step)  # noqa: F841 - faults look at it
    logits = model(x)
    loss = criterion(logits.flatten(0, 1), y.flatten()) / 2
    loss.backward()
    if step % 2 == 1:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    return loss.item()


for epoch in rs.epochs(args.epochs):
    with rs.seeded(task="train", epoch=epoch):
        for step, (x, y) in rs.steps(loader):
            last = train_step(epoch, step, x, y)
    with rs.seeded(task="eval", epoch=epoch):
        print(epoch, last, evaluate())
if args.save:
    states = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save({**states, "scheduler": scheduler.state_dict(), "rng": rs.state_dict()}, args.save)
if "PLANTED_END" in os.environ:
    end = [model.state_dict(), torch.get_rng_state(), random.getstate(), np.random.get_state()]
    torch.save(end, os.environ["PLANTED_END"])
