"""Cases of section A, as far as the main process decides them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch

import reproseed as rs


class Draws(torch.utils.data.Dataset[Any]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> list[float]:
        return [random.random(), float(np.random.rand()), float(torch.rand(()))]


def _epochs() -> list[list[list[list[float]]]]:
    """Return draws by epoch, batch, library and sample; with 2 workers batch 0 is worker 0's."""
    rs.init(master_seed=2)
    loader = torch.utils.data.DataLoader(Draws(), batch_size=4, num_workers=2)
    drawn = []
    for epoch in rs.epochs(2):
        with rs.seeded(task="train", epoch=epoch):
            drawn.append([[library.tolist() for library in batch] for _, batch in rs.steps(loader)])
    return drawn


@pytest.mark.slow
def test_case_01_workers_and_epochs_draw_different_numbers_and_runs_the_same():
    """The base seed that each loader draws in the main process is the epoch's, so its workers' streams are too."""
    first = _epochs()
    assert _epochs() == first
    for library in range(3):
        numbers = [number for epoch in first for batch in epoch for number in batch[library]]
        assert len(set(numbers)) == 2 * 8
