"""Count how many different seeds each way of seeding derives for different places: the first row of the README's table.

    pip install framework-reproducibility==0.6.0     # the peer; without it its row is left out
    python benchmarks/peers.py

The grid: master seeds 0..99 x 8 ranks x 100 epochs x tasks 0..3, 320,000 places; then the share of places of run 0
whose seed occurs in run 1 too. fwr13y is asked itself. "seed + rank" stands for what Lightning's, Composer's and
Accelerate's users write.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import itertools
from collections.abc import Callable

from reproseed.address import Address
from reproseed.streams import Stream

GRID = list(itertools.product(range(100), range(8), range(100), range(4)))
Derive = Callable[[int, int, int, int], int]


def ours(master: int, rank: int, epoch: int, task: int) -> int:
    return Stream(master, Address(rank=rank, epoch=epoch, task=task), "torch.cpu").seed(64)


def additive(master: int, rank: int, epoch: int, task: int) -> int:
    return master + rank + epoch


def fwr13y() -> Derive:
    from fwr13y.seeder.seed_gen import SeedGen  # type: ignore[import-not-found, unused-ignore]  # an optional peer

    generators = {(m, r): SeedGen(m, 8, r) for m in range(100) for r in range(8)}
    return lambda master, rank, epoch, task: int(generators[master, rank](task, epoch))


def main() -> None:
    """Print the table."""
    ways: dict[str, Derive] = {"reproseed": ours, "seed + rank + epoch": additive}
    if importlib.util.find_spec("fwr13y") is not None:
        ways["fwr13y 0.6"] = fwr13y()
    print(f"{'':22}{'places':>9}{'seeds':>9}   of run 0's seeds in run 1")
    for name, derive in ways.items():
        with contextlib.redirect_stderr(io.StringIO()):  # the peer warns of its own repeats, 318,200 times
            seeds = {place: derive(*place) for place in GRID}
        zero, one = ({seed for place, seed in seeds.items() if place[0] == master} for master in (0, 1))
        print(f"{name:22}{len(seeds):9,}{len(set(seeds.values())):9,}   {len(zero & one) / len(zero):.1%}")


if __name__ == "__main__":
    main()
