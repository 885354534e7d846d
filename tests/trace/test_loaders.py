"""Loaders of every form under the tracer: none makes it stop, and what differs in an iterable one is named."""

from __future__ import annotations

import random

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

from reproseed.trace import diff, read, record


class Listed(Dataset):
    """Map-style; its length is its own business."""

    def __getitem__(self, index):
        return torch.full((2,), float(index))


class Sized(Listed):
    def __len__(self):
        return 8


class Streamed(IterableDataset):
    """Numbers, with noise of a generator that it holds and a factor that is in no attribute."""

    def __init__(self, rng=None, factor=lambda: 1.0):
        self.rng = rng
        self.factor = factor

    def __iter__(self):
        for index in range(8):
            noise = self.rng.random() if self.rng is not None and index == 5 else 0.0
            yield torch.full((2,), float(index) + noise) * (self.factor() if index > 5 else 1.0)


class SizedStream(Streamed):
    def __len__(self):
        return 8


class Endless:
    """A sampler that has no length."""

    def __iter__(self):
        yield from (3, 1, 2, 0)


class Empty(list):
    """A batch sampler that is falsy and full: its length is that of the list."""

    def __iter__(self):
        yield from ([1, 2], [0])


LOADERS = {
    "iterable": lambda: DataLoader(Streamed(), 2),
    "iterable, 2 workers": lambda: DataLoader(Streamed(), 2, num_workers=2),
    "iterable, single samples": lambda: DataLoader(Streamed(), None),
    "iterable with a length": lambda: DataLoader(SizedStream(), 3, drop_last=True),
    "map-style, single samples": lambda: DataLoader(Sized(), None),
    "dataset and sampler without a length": lambda: DataLoader(Listed(), 2, sampler=Endless()),
    "batch sampler without a length": lambda: DataLoader(Listed(), batch_sampler=iter([[0, 1], [2]])),
    "batch sampler that is falsy": lambda: DataLoader(Sized(), batch_sampler=Empty()),
    "list as dataset": lambda: DataLoader([1.0, 2.0, 3.0], 2, shuffle=True),
}


def trace(path, make, epochs=1):
    """Train on what a loader gives, and record it."""
    torch.manual_seed(0)
    with record(path):
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        loader = make()
        for _ in range(epochs):
            for batch in loader:
                optimizer.zero_grad()
                model(torch.as_tensor(batch, dtype=torch.float32).reshape(-1, 1).expand(-1, 2)).sum().backward()
                optimizer.step()
    return read(path)


@pytest.mark.parametrize("kind", LOADERS)
def test_every_form_of_loader_is_traced_to_its_end(tmp_path, kind):
    expected = sum(1 for _ in LOADERS[kind]())
    found = trace(tmp_path / "a.jsonl.gz", LOADERS[kind])
    assert not found.notes
    batches = [one for place in found.places for one in place.records if one["t"] == "batch"]
    assert len(batches) == expected
    trace(tmp_path / "b.jsonl.gz", LOADERS[kind])
    assert diff(tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl.gz") is None


def test_an_iterable_datasets_loader_records_no_indices(tmp_path):
    found = trace(tmp_path / "a.jsonl.gz", LOADERS["iterable"])
    assert not [one for place in found.places for one in place.records if one["t"] == "indices"]


@pytest.mark.parametrize("workers", [0, 2], ids=["no workers", "two workers"])
def test_an_iterable_datasets_own_generator_that_nobody_seeded_is_named(tmp_path, workers):
    for seed, name in enumerate("ab"):
        rng = random.Random(seed)
        trace(tmp_path / f"{name}.jsonl.gz", lambda rng=rng: DataLoader(Streamed(rng), 2, num_workers=workers))
    divergence = diff(tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl.gz")
    assert divergence.causes[0].name == "RNG_UNREGISTERED"
    assert divergence.causes[0].confidence == "certain"
    assert "dataset.rng" in divergence.causes[0].evidence[0]


def test_without_workers_no_copies_are_spoken_of_and_nothing_is_certain(tmp_path):
    for factor, name in ((1.0, "a"), (2.0, "b")):
        trace(
            tmp_path / f"{name}.jsonl.gz",
            lambda factor=factor: DataLoader(Streamed(random.Random(3), lambda: factor), 2),
        )
    (cause, *_) = diff(tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl.gz").causes
    assert cause.confidence == "likely"
    assert "workers" not in " ".join(cause.evidence)
    assert "indices" not in " ".join(cause.evidence)


@pytest.mark.parametrize("level", ["rng", "state"])
def test_a_loop_without_a_loader_and_without_scopes_is_recorded_at_every_level(tmp_path, level):
    for extra, name in ((0, "a"), (1, "b")):
        torch.manual_seed(0)
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        with record(tmp_path / f"{name}.jsonl.gz", level=level):
            for step in range(3):
                model(torch.randn(4, 2)).sum().backward()
                torch.rand(extra if step == 1 else 0)
                optimizer.step()
                optimizer.zero_grad()
    divergence = diff(tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl.gz")
    assert divergence.address == {"optimizer_step": 1}
    assert divergence.what.startswith("generators")
    assert divergence.causes[0].name == "RNG_EXTRA_DRAW"
