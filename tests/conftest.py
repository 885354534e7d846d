"""Isolation: each test begins without a run, and ends with all process state as before."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from reproseed import run, stack
from reproseed.sources import registry
from reproseed.sources.accelerator import AcceleratorSource

sys.path.append(str(Path(__file__).parent))  # for `import fakes`: importlib mode adds no folder by itself


def _default_device() -> Any:
    try:
        return torch.get_default_device()
    except AttributeError:  # torch 2.4, once a default device has been set and unset
        return torch.device("cpu")


def _flags() -> dict[str, Any]:
    """Process-wide settings that a test may not leave changed."""
    return {
        "environment": dict(os.environ),
        "working directory": os.getcwd(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "deterministic warn only": torch.is_deterministic_algorithms_warn_only_enabled(),
        "benchmark": torch.backends.cudnn.benchmark,
        "cudnn deterministic": torch.backends.cudnn.deterministic,
        "default dtype": torch.get_default_dtype(),
        "default device": _default_device(),
        "threads": torch.get_num_threads(),
        "grad": torch.is_grad_enabled(),
        "bit generator": np.random.mtrand._rand._bit_generator,
    }


@pytest.fixture(autouse=True)
def process_state() -> Iterator[None]:
    """Begin without a run; at the end put generators and run back, and fail for anything else that is left."""
    python, numpy, cpu = random.getstate(), np.random.get_state(), torch.get_rng_state()
    flags, threads = _flags(), set(threading.enumerate())
    run._current = None
    yield
    gc.collect()  # loaders and driven generators end their workers and scopes when they are collected
    left = [str(entry.address) for entry in stack.clear()]
    run._current = None
    after = _flags()
    np.random.mtrand.set_bit_generator(flags["bit generator"])
    random.setstate(python)
    np.random.set_state(numpy)
    torch.set_rng_state(cpu)
    assert not left, f"scopes left open: {left}"
    # pytest names the phase of the running test in a variable of its own; torch sets one at the first optimizer, and
    # scikit-learn's OpenMP two at its import.
    for one in (flags, after):
        for name in ("PYTEST_CURRENT_TEST", "TORCHINDUCTOR_CACHE_DIR", "KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK"):
            one["environment"].pop(name, None)
    changed = [name for name in flags if flags[name] != after[name] and flags[name] is not after[name]]
    assert not changed, f"left changed: {changed}"
    children = multiprocessing.active_children()
    assert not children, f"child processes left: {children}"
    alive = [t for t in threading.enumerate() if t not in threads and not t.daemon]
    assert not alive, f"threads left: {alive}"


@pytest.fixture
def use_device(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Any]:
    """Return a function that makes a stand-in of `fakes` the only accelerator of every run that begins from now on."""

    def use(module: Any) -> Any:
        def accelerators(distinct: bool = False) -> list[AcceleratorSource]:
            return [AcceleratorSource("fake", module, distinct)]

        monkeypatch.setattr(registry, "accelerators", accelerators)
        return module

    return use


@pytest.fixture
def device(use_device: Callable[[Any], Any]) -> Any:
    """Two devices that are not initialised."""
    import fakes

    return use_device(fakes.FakeDeviceModule())


def pytest_collection_finish() -> None:
    """Leave what is imported by now out of each test's collection, which would walk torch's half a million objects."""
    gc.collect()
    gc.freeze()
