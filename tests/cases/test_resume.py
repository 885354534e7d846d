"""Cases of section C: runs that resume."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch

import reproseed as rs

Loss = list[str]


class Noisy(torch.utils.data.Dataset[Any]):
    """A data pipeline that itself draws numbers, from all three libraries."""

    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> torch.Tensor:
        noise = random.random() + float(np.random.rand())
        return torch.full((4,), float(index)) * 0.01 + noise + 0.1 * torch.randn(4)


class Run:
    """A tiny model with dropout on noisy data; its losses as exact bits."""

    def __init__(self, workers: int = 0) -> None:
        self.model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)
        self.loader = torch.utils.data.DataLoader(Noisy(), batch_size=4, shuffle=True, num_workers=workers)

    def step(self, x: torch.Tensor) -> str:
        self.optimizer.zero_grad()
        loss = self.model(x).square().mean()
        loss.backward()
        self.optimizer.step()
        return float(loss.detach()).hex()

    def save(self) -> dict[str, Any]:
        copied = {name: value.clone() for name, value in self.model.state_dict().items()}
        return {"model": copied, "rng": rs.state_dict()}


def _order(epoch: int) -> list[int]:
    with rs.seeded(task="train", epoch=epoch):
        loader = torch.utils.data.DataLoader(range(16), batch_size=4, shuffle=True)
        return [int(one) for _, batch in rs.steps(loader) for one in batch]


def test_case_14_a_resumed_run_does_not_replay_epoch_0():
    """Three epochs in one go, and three runs of one epoch each; and epoch 2 without 0 and 1."""
    rs.init(master_seed=3)
    together = [_order(epoch) for epoch in rs.epochs(3)]
    assert len({str(order) for order in together}) == 3
    apart, state = [], None
    for _ in range(3):
        rs.init(None if state else 3, resume=state)
        epoch = next(iter(rs.epochs(3)))
        apart.append(_order(epoch))
        state = rs.state_dict()
    assert apart == together
    rs.init(master_seed=3)
    assert _order(2) == together[2]


def _train(epochs: int, resume: dict[str, Any] | None = None, load: str = "", stray: bool = False) -> tuple[Loss, Any]:
    rs.init(None if load == "init" else 3, resume=resume["rng"] if resume and load == "init" else None)
    if resume and load == "first":
        rs.load_state_dict(resume["rng"])
    run = Run()
    if resume:
        run.model.load_state_dict(resume["model"])
    if resume and load == "after set-up":
        rs.load_state_dict(resume["rng"])
    losses: Loss = []
    for epoch in rs.epochs(epochs):
        if stray:
            torch.manual_seed(3)
            random.seed(3)
            np.random.seed(3)
        if resume and load == "inside" and not losses:
            with rs.seeded(task="train", epoch=epoch):
                losses += [run.step(x) for _, x in rs.steps(run.loader)]
            continue
        with rs.seeded(task="train", epoch=epoch):
            losses += [run.step(x) for _, x in rs.steps(run.loader)]
    return losses, run.save()


@pytest.mark.parametrize("stray", [False, True], ids=["", "stray seeding"])
@pytest.mark.parametrize("load", ["init", "first", "after set-up"])
def test_case_15_case_20_it_does_not_matter_where_the_state_is_loaded_nor_what_is_seeded_after(load, stray):
    full, _ = _train(4)
    half, state = _train(2)
    rest, _ = _train(4, state, load, stray)
    assert half + rest == full


def test_case_20_another_seed_on_resume_is_an_error_that_names_both():
    state = rs.init(master_seed=3).state_dict()
    with pytest.raises(rs.StateMismatchError, match="Checkpoint has master seed 3, this run 4"):
        rs.init(4, resume=state)
    rs.init(4)
    with pytest.raises(rs.StateMismatchError, match="Checkpoint has master seed 3, this run 4"):
        rs.load_state_dict(state)


@pytest.mark.parametrize("workers", [0, 2])
def test_case_17_in_the_middle_of_an_epoch_whose_data_pipeline_draws(workers):
    """From every step of the second epoch: fetched, skipped and restored in the right order by itself."""
    rs.init(master_seed=3)
    run, losses, states = Run(workers), [], []
    for epoch in rs.epochs(3):
        with rs.seeded(task="train", epoch=epoch):
            for _, x in rs.steps(run.loader):
                losses.append(run.step(x))
                states.append(run.save())
    for saved in (0, 4, 5, 6, 7, 11) if workers == 0 else (5,):
        rs.init(resume=states[saved]["rng"])
        run = Run(workers)
        run.model.load_state_dict(states[saved]["model"])
        resumed = []
        for epoch in rs.epochs(3):
            with rs.seeded(task="train", epoch=epoch):
                resumed += [run.step(x) for _, x in rs.steps(run.loader)]
        assert resumed == losses[saved + 1 :], saved
