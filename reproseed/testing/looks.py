"""What to read of each process-wide generator, and how its seed shows in it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from reproseed.testing.fresh import WORDS, numpy_seed, python_seed


def _read_torch() -> int:
    import torch

    return torch.default_generator.initial_seed()


def _read_numpy() -> list[int]:
    import numpy as np

    state = np.random.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        return []
    return [int(word) for word in state["state"]["key"]]


def _read_python() -> list[int]:
    return list(random.getstate()[1][:WORDS])


def _judge_numpy(now: list[int], known: list[int]) -> int | None:
    return numpy_seed(now, known) if now and known else None


OWNER = {"torch": "torch's generator", "numpy": "NumPy's global generator", "python": "Python's random"}

# How to read what a seeding changes, and how to tell the seed from it, given what was known.
LOOK: dict[str, tuple[Callable[[], Any], Callable[[Any, Any], int | None]]] = {
    "torch": (_read_torch, lambda now, known: int(now)),
    "numpy": (_read_numpy, _judge_numpy),
    "python": (_read_python, python_seed),
}
