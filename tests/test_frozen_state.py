"""A checkpoint that an earlier version saved loads for ever.

``python tests/test_frozen_state.py`` wrote ``golden/state-1.json``; it is not written again while the format is 1.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import torch

import reproseed as rs

GOLDEN = Path(__file__).parent / "golden" / "state-1.json"


class Own:
    """A generator with a state of its own kind."""

    def __init__(self) -> None:
        self.count = 0

    def seed(self, seed: int) -> None:
        self.count = seed % 1000

    def state_dict(self) -> dict[Any, Any]:
        return {"count": self.count, 1: (0.5, None)}

    def load_state_dict(self, state: dict[Any, Any]) -> None:
        assert state[1] == (0.5, None)
        self.count = state["count"]


def _generators() -> dict[str, Any]:
    return {
        "crop": random.Random(),
        "noise": np.random.default_rng(),
        "legacy": np.random.RandomState(),
        "mask": torch.Generator(),
        "own": Own(),
    }


def _draws(generators: dict[str, Any]) -> list[Any]:
    return [
        random.random(),
        float(np.random.rand()),
        float(torch.rand((), dtype=torch.float64)),
        generators["crop"].random(),
        generators["noise"].random(),
        generators["legacy"].random_sample(),
        float(torch.rand((), dtype=torch.float64, generator=generators["mask"])),
        generators["own"].count,
    ]


def _run(state: str | None) -> tuple[str, list[Any]]:
    """Train two folds; return the checkpoint of step 1 of epoch 1 of fold 1, and all that is drawn after it."""
    seeder = rs.init(None if state else 2**64 - 1, task_seeds=None if state else {"init": 7, 2: 8}, resume=state)
    generators = _generators()
    for name, generator in generators.items():
        rs.register_generator(generator, name=name)
    log: list[Any] = []
    saved = ""
    for fold in range(2):
        for epoch in rs.epochs(3, fold=fold):
            if (fold, epoch) != (1, 1):
                log.append(_draws(generators))
            with rs.seeded(task="train", epoch=epoch, fold=fold, restore=True):
                for step, _ in rs.steps(3):
                    log.append(_draws(generators))
                    random.gauss(0, 1), np.random.randn()
                    if (fold, epoch, step) == (1, 1, 1):
                        saved, log = seeder.to_json(), []
            log.append(_draws(generators))
    return saved, log


def test_a_stored_checkpoint_loads_and_goes_on_with_the_stored_draws():
    golden = json.loads(GOLDEN.read_text())
    _, log = _run(json.dumps(golden["state"]))
    assert log == golden["draws"]


def test_the_present_version_saves_the_stored_checkpoint_again():
    golden = json.loads(GOLDEN.read_text())
    saved, log = _run(None)
    present, stored = json.loads(saved), golden["state"]
    for one in (present, stored):  # what may differ: the versions of the libraries
        del one["versions"], one["checksums"]["versions"]
    assert present == stored
    assert log == golden["draws"]


if __name__ == "__main__":
    text, draws = _run(None)
    GOLDEN.write_text(json.dumps({"state": json.loads(text), "draws": draws}, sort_keys=True) + "\n")
