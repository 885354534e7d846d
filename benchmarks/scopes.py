"""Print what scopes cost, as ratios measured in one run; exit with 1 if a goal is missed.

    python benchmarks/scopes.py

Each way is timed in short rounds, interleaved with the others, and the smallest round counts: the machine's noise
falls on all alike. All are called ten frames deep, as from a trainer: `torch.manual_seed` formats the whole call
stack. The floor is the raw calls for the same work with the fast NumPy copy: derive, snapshot, seed, restore. fwr13y
and Lightning are asked themselves where framework-reproducibility and lightning are installed, Lightning without its
log line; else the calls that they make are written out, which is less than they do.
"""

# reproseed: ignore-file[RS101, RS107] - it calls what scopes replace, to measure it
from __future__ import annotations

import importlib.util
import itertools
import platform
import random
import sys
import time
from collections.abc import Callable, Mapping

import numpy as np
import torch

import reproseed as rs
from reproseed import mersenne
from reproseed.address import Address
from reproseed.derivation import derive_1

GOALS = {
    ("reseed", "fwr13y reseed"): 0.18,
    ("scope", "Lightning isolate_rng + seed_everything"): 0.22,
    ("scope", "fork_rng + manual_seed (torch alone)"): 0.40,
    ("scope", "floor of a scope"): 1.4,
}
PEERS = {"fwr13y": "framework-reproducibility", "Lightning": "lightning"}


def fwr13y() -> Callable[[], None]:
    """Return fwr13y's reseed, or where it is not installed the calls that it makes."""
    if importlib.util.find_spec("fwr13y") is None:
        return fwr13y_calls
    from fwr13y.seeder.pyt import Seeder  # type: ignore[import-not-found, unused-ignore]  # an optional peer

    seeders = itertools.cycle([Seeder(master, 8, 0) for master in range(4)])
    epochs = itertools.count()  # fresh ones: it prints a warning, at a cost, where it has used a seed before
    return lambda: next(seeders).reseed(1, next(epochs))


def fwr13y_calls() -> None:
    seed = random.Random(1234).getrandbits(31)
    torch.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)


def lightning() -> Callable[[], None]:
    """Return Lightning's scope and seeding, or where it is not installed the calls that they make."""
    if importlib.util.find_spec("lightning") is None:
        return lightning_calls
    from lightning import seed_everything  # type: ignore[import-not-found, unused-ignore]  # an optional peer
    from lightning.pytorch.utilities.seed import (  # type: ignore[import-not-found, unused-ignore]  # as above
        isolate_rng,
    )

    def pair() -> None:
        with isolate_rng():
            seed_everything(5, verbose=False)

    return pair


def lightning_calls() -> None:
    states = (torch.get_rng_state(), np.random.get_state(), random.getstate())
    random.seed(5)
    np.random.seed(5)
    torch.manual_seed(5)
    torch.set_rng_state(states[0])
    np.random.set_state(states[1])
    random.setstate(states[2])


def fork_pair() -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)


def floor_scope() -> None:
    numpy = np.random.mtrand._rand
    before = random.getstate(), mersenne.numpy_state(numpy), mersenne.torch_state(torch.default_generator)
    floor_reseed()
    random.setstate(before[0])
    mersenne.set_numpy_state(numpy, before[1])
    mersenne.set_torch_state(torch.default_generator, before[2])


def floor_reseed() -> None:
    address = Address(task=1, epoch=3, rank=0)
    random.seed(int.from_bytes(derive_1(1, address, "python", 32), "little"))
    mersenne.seed_numpy(np.random.mtrand._rand, derive_1(1, address, "numpy", mersenne.KEY_BYTES))
    raw = derive_1(1, address, "torch.cpu", mersenne.KEY_BYTES + 8)
    state = mersenne.full_torch_state(raw[: mersenne.KEY_BYTES], raw[mersenne.KEY_BYTES :])
    assert state is not None
    mersenne.set_torch_state(torch.default_generator, state)


def reseed() -> None:
    rs.reseed(1, 3)


def scope() -> None:
    with rs.seeded(task=1, epoch=3, restore=True):
        pass


def measure(ways: Mapping[str, Callable[[], None]], rounds: int = 400, calls: int = 20) -> dict[str, float]:
    """Return the smallest time of a call of each way, in microseconds."""
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.perf_counter()
            for _ in range(calls):
                way()
            best[name] = min(best[name], (time.perf_counter() - start) / calls * 1e6)
    return best


def deep(frames: int, call: Callable[[], dict[str, float]]) -> dict[str, float]:
    """Call from so many frames deeper."""
    return call() if frames == 0 else deep(frames - 1, call)


def generators(count: int) -> float:
    """Return the time of a scope with so many registered generators."""
    rs.init(master_seed=1)
    held = [random.Random() for _ in range(count)]
    for index, one in enumerate(held):
        rs.register_generator(one, name=f"g{index}")
    return measure({"scope": scope}, rounds=30, calls=1)["scope"]


def main() -> int:
    """Print the table; exit with 1 if a goal is missed."""
    rs.init(master_seed=1)
    ways: dict[str, Callable[[], None]] = {
        "reseed": reseed,
        "scope": scope,
        "floor of a reseed": floor_reseed,
        "floor of a scope": floor_scope,
        "fwr13y reseed": fwr13y(),
        "Lightning isolate_rng + seed_everything": lightning(),
        "fork_rng + manual_seed (torch alone)": fork_pair,
    }
    times = deep(8, lambda: measure(ways))
    print(
        f"{platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}, NumPy {np.__version__}"
    )
    for name, value in times.items():
        print(f"  {name:42} {value:8.1f} us")
    missed = False
    for (ours, theirs), goal in GOALS.items():
        ratio = times[ours] / times[theirs]
        peer = next((name for name in PEERS if name in theirs), "")
        if peer and importlib.util.find_spec(peer.lower()) is None:
            print(f"  {ours} / {theirs:42} {ratio:6.3f}  its calls alone; goal {goal} with {PEERS[peer]}")
            continue
        missed |= ratio > goal
        print(f"  {ours} / {theirs:42} {ratio:6.3f}  goal {goal}{'' if ratio <= goal else '  MISSED'}")
    print(f"  reseed / floor of a reseed {times['reseed'] / times['floor of a reseed']:.3f}")
    one, many = generators(1) - generators(0), generators(1000)
    print(f"  scope with 1,000 registered generators / 1,000 x one: {many / (1000 * max(one, 1e-9)):.2f}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
