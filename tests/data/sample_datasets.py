"""Datasets that draw, in a module of its own, so that spawned workers can import them."""

from __future__ import annotations

import random
import time

import numpy as np
import torch
import torch.utils.data

import reproseed as rs


def draws():
    """Return one draw of each library, as exact numbers."""
    return random.random(), float(np.random.random()), float(torch.rand((), dtype=torch.float64))


class Noise(torch.utils.data.Dataset):
    """Yields (index, one draw of each library)."""

    def __init__(self, n=11, jitter=0.0):
        self.n = n
        self.jitter = jitter

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        if self.jitter:
            time.sleep(self.jitter * (index % 3))
        return (int(index), *draws())


class Plain(torch.utils.data.Dataset):
    """Yields its indices and draws nothing."""

    def __init__(self, n=11):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        return int(index)


class Batched(Plain):
    """Reads whole batches, and counts how often."""

    def __init__(self, n=11):
        super().__init__(n)
        self.reads = 0

    def __getitems__(self, indices):
        self.reads += 1
        return [int(index) for index in indices]


class Failing(Noise):
    """Raises at one index, after drawing."""

    def __getitem__(self, index):
        item = super().__getitem__(index)
        if index == 3:
            raise ValueError("sample 3 is broken")
        return item


class Flaky(Noise):
    """Raises at one index if told to, so that a retry can be compared."""

    broken = True

    def __getitem__(self, index):
        item = super().__getitem__(index)
        if self.broken and index == 3:
            raise ValueError("sample 3 is broken")
        return item


class Owning(torch.utils.data.Dataset):
    """Holds a generator of each kind."""

    def __init__(self, n=8):
        self.n = n
        self.python = random.Random(1)
        self.numpy = np.random.default_rng(1)
        self.legacy = np.random.RandomState(1)
        self.torch = torch.Generator().manual_seed(1)

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        return (
            int(index),
            self.python.random(),
            float(self.numpy.random()),
            float(self.legacy.random()),
            float(torch.rand((), generator=self.torch, dtype=torch.float64)),
        )


class Caching(Noise):
    """Keeps what it made the first time: what no seeding of ours can reach."""

    def __init__(self, n=4):
        super().__init__(n)
        self.kept = {}

    def __getitem__(self, index):
        if index not in self.kept:
            self.kept[index] = super().__getitem__(index)
        return self.kept[index]


class InScopes(Plain):
    """Opens scopes and asks for streams while a sample is drawn."""

    def __getitem__(self, index):
        with rs.seeded(task="crop"):
            crop = random.random()
        with rs.current().at(trial=2):
            trial = random.random()
        return int(index), crop, trial, rs.current().stream("x").seed(), float(rs.data.sample_rng().random())


class Stream(torch.utils.data.IterableDataset):
    """Yields (number, one draw of each library)."""

    def __init__(self, n=11):
        self.n = n

    def __iter__(self):
        for number in range(self.n):
            yield (number, *draws())


def keep(samples):
    """A collate function that makes nothing of the samples."""
    return list(samples)


def mixed(samples):
    """A collate function that draws."""
    return [one[0] for one in samples], draws()


def in_worker(item):
    """Return the item and the id of the worker."""
    info = torch.utils.data.get_worker_info()
    return item, -1 if info is None else info.id


def collect(loader, epochs=3, task="train"):
    """Return {(epoch, index): draws} over whole epochs, each sample once."""
    seen = {}
    for epoch in range(epochs):
        with rs.seeded(task=task, epoch=epoch):
            for batch in loader:
                for index, *drawn in batch:
                    assert (epoch, index) not in seen
                    seen[epoch, index] = tuple(drawn)
    return seen


def batches(loader, task="train", epoch=0):
    """Return the batches of one epoch."""
    with rs.seeded(task=task, epoch=epoch):
        return list(loader)
