"""Print what data loading costs, as ratios measured in one run.

    python benchmarks/data.py

Each way is timed in short rounds, interleaved with the others, and the smallest round counts: the machine's noise falls
on all alike. What takes milliseconds is seldom undisturbed, so there the median over pairs counts, ours and theirs in
turn first. The sampler's two rows run in processes of their own, whose peak memory is the
operating system's figure above that of the imports alone. Exits with 1 if a goal is missed.
"""

# reproseed: ignore-file[RS101, RS211] - it measures what it replaces
from __future__ import annotations

import json
import platform
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler

import reproseed as rs
from reproseed.data.drawing import Drawing
from reproseed.data.header import here

SAMPLES, BATCH, WORLD = 100_000_000, 256, 8
AT = SAMPLES // 10 * 9


class Work(Dataset[torch.Tensor]):
    """A dataset whose samples take a while of arithmetic and draw a few numbers."""

    def __init__(self, n: int, rounds: int) -> None:
        self.n, self.rounds = n, rounds
        self.image = torch.ones(64, 64)

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> torch.Tensor:
        image = self.image
        for _ in range(self.rounds):
            image = torch.flip(image, (0,)) + 0.01
        return image[:8, :8] + random.random() + float(np.random.random()) + torch.rand(8, 8)


def smallest(ways: dict[str, Callable[[int], Any]], calls: int, rounds: int) -> dict[str, float]:
    """Return each way's smallest time of one call, in seconds; rounds of all ways are interleaved."""
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.perf_counter()
            for key in range(calls):
                way(key)
            best[name] = min(best[name], (time.perf_counter() - start) / calls)
    return best


def in_pairs(ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int) -> float:
    """Return the median over pairs of calls of our time divided by theirs."""
    ratios = []
    for turn in range(rounds):
        times = {}
        for way in (ours, theirs) if turn % 2 else (theirs, ours):
            start = time.perf_counter()
            way()
            times[way] = time.perf_counter() - start
        ratios.append(times[ours] / times[theirs])
    return statistics.median(ratios)


def deep(frames: int, call: Callable[[], dict[str, float]]) -> dict[str, float]:
    """Call from so many frames deeper, as a worker calls a dataset: `torch.manual_seed` formats the whole stack."""
    return call() if frames == 0 else deep(frames - 1, call)


def seeding() -> Iterator[tuple[str, str, float, str]]:
    """Compare the seeding of one sample with the three public calls, and with a transform of 2 ms."""

    def public(key: int) -> None:
        random.seed(key)
        np.random.seed(key)
        torch.manual_seed(key)

    rounds = 1
    while smallest({"work": Work(1, rounds).__getitem__}, 1, 5)["work"] < 0.002:
        rounds = rounds * 5 // 4 + 1
    data = Work(1, rounds)
    with rs.seeded(task="bench", epoch=0), Drawing(header := here()) as drawing:

        def both(key: int) -> None:
            drawing.at(header, key)
            data[0]

        ways = {"ours": lambda key: drawing.at(header, key), "public": public}
        best = deep(8, lambda: smallest(ways, 20, 300))
        yield "seeding a sample", "three public seed calls", best["ours"] / best["public"], "<= 0.1"
        ratio = in_pairs(lambda: both(0), lambda: data[0], 1000)
        yield "a transform of 2 ms, seeded", "the transform alone", ratio, "<= 1.02"


def peak() -> int:
    """Return this process's peak memory in bytes; Linux counts kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def sample_order(kind: str) -> None:
    """Print the memory and the time to the first batch at 90 % of an epoch, as one rank of eight."""
    rs.init(master_seed=1, rank=3, world_size=WORLD)
    ours = rs.data.ElasticBatchSampler(10_000_000, BATCH)
    with rs.seeded(task="train", epoch=0):  # what is imported and checked once a process
        next(iter(ours))
    before, start = peak(), time.perf_counter()
    with rs.seeded(task="train", epoch=1):
        if kind == "ours":
            sampler = rs.data.ElasticBatchSampler(SAMPLES, BATCH)
            sampler.seek(AT // BATCH)
            next(iter(sampler))
        else:
            plain = DistributedSampler(range(SAMPLES), num_replicas=WORLD, rank=3)  # type: ignore[arg-type]
            plain.set_epoch(1)
            iterator = iter(plain)
            for _ in range(AT // WORLD):
                next(iterator)
            [next(iterator) for _ in range(BATCH // WORLD)]
    print(json.dumps({"seconds": time.perf_counter() - start, "bytes": max(peak() - before, 4096)}))


def order() -> Iterator[tuple[str, str, float, str]]:
    """Compare the sampler with DistributedSampler at 100 million samples."""
    got = {}
    for kind in ("ours", "plain"):
        command = [sys.executable, __file__, kind]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
        got[kind] = json.loads(done.stdout)
    for what, name in (("memory of a rank", "bytes"), ("first batch at 90 %", "seconds")):
        yield f"{what}, 100 M samples", "DistributedSampler", got["ours"][name] / got["plain"][name], "<= 0.01"


def throughput() -> Iterator[tuple[str, str, float, str]]:
    """Compare whole epochs of samples of 2 ms with two workers that live on."""
    rounds = 1
    while smallest({"work": Work(1, rounds).__getitem__}, 1, 5)["work"] < 0.002:
        rounds = rounds * 5 // 4 + 1
    data = Work(96, rounds)
    plain = DataLoader(data, 8, shuffle=True, num_workers=2, persistent_workers=True)
    ours = rs.data.seeded_loader(data, 8, shuffle=True, num_workers=2, persistent_workers=True)

    def epoch(loader: Any) -> None:
        for _batch in loader:
            pass

    with rs.seeded(task="bench", epoch=0):
        ratio = 1 / in_pairs(lambda: epoch(ours), lambda: epoch(plain), 300)
    yield "throughput, 2 workers, 2 ms", "the plain DataLoader", ratio, ">= 0.97"


def main() -> int:
    """Print the table; return 1 if a goal is missed."""
    rs.init(master_seed=1)
    print(
        f"{platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}, NumPy {np.__version__}"
    )
    print(f"{'what':<38}{'against':<28}{'ratio':>9}  goal")
    missed = 0
    for part in (seeding, order, throughput):
        for what, against, ratio, goal in part():
            limit = float(goal.split()[1])
            met = ratio <= limit if goal.startswith("<") else ratio >= limit
            missed += not met
            print(f"{what:<38}{against:<28}{ratio:>9.3g}  {goal}{'' if met else '  MISSED'}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sample_order(sys.argv[1])
    else:
        raise SystemExit(main())
