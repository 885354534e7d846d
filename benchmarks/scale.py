"""Simulate a large run without its machines: what repeats, and does the cost of a rank grow with the world?

    python benchmarks/scale.py                  # 100,000 ranks x 1,000 epochs, a sample of ten million streams
    python benchmarks/scale.py --quick

Addresses are counted exactly: an epoch's messages are laid out for all ranks at once, compared with the library's on a
sample, and read back; what can be read back cannot repeat. Streams are drawn by the library itself, and the first 64
bits
of each are kept; among ten million of them two coincide by chance in about 3 of a million such runs.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from reproseed.address import Address
from reproseed.ranks import Place
from reproseed.seeder import Seeder
from reproseed.sources.torch_cpu import TorchCpuSource

MASTER = 2026
SOURCE = TorchCpuSource()


def rank_of_run(rank: int, world: int) -> Seeder:
    return Seeder(MASTER, place=Place(rank, world))


def first_bits(seeder: Seeder, epochs: range) -> list[int]:
    """Return the leading 64 bits of a rank's stream at each epoch, as a scope derives it."""
    streams = (seeder.streams_at(Address(task="train", epoch=epoch), False, None)(SOURCE) for epoch in epochs)
    return [stream.seed(64) for stream in streams]


def layout(world: int) -> tuple[np.ndarray, int, int]:
    """Return the bytes of an address, and where its epoch and its rank stand, found by changing them."""

    def encoded(epoch: int, rank: int) -> np.ndarray:
        seeder = rank_of_run(rank, world)
        address = seeder.streams_at(Address(task="train", epoch=epoch), False, None)(SOURCE).address
        return np.frombuffer(address.encoded, dtype=np.uint8)

    zero = encoded(0, 0)
    epoch_at = int(np.flatnonzero(encoded(1, 0) != zero)[0])
    rank_at = int(np.flatnonzero(encoded(0, 1) != zero)[0])
    return zero, epoch_at, rank_at


def repeated_addresses(ranks: int, epochs: int) -> int:
    """Return how many of all ranks' addresses repeat another; each is laid out and read back, none is kept."""
    zero, epoch_at, rank_at = layout(ranks)
    rows = np.tile(zero, (ranks, 1))
    numbers = np.arange(ranks, dtype="<i8")
    rows[:, rank_at : rank_at + 8] = numbers.view(np.uint8).reshape(ranks, 8)
    some = np.unique(np.linspace(0, ranks - 1, 7).astype(int))
    sampled = {int(rank): rank_of_run(int(rank), ranks) for rank in some}
    wrong, last = 0, -1
    for epoch in range(epochs):
        rows[:, epoch_at : epoch_at + 8] = np.frombuffer(epoch.to_bytes(8, "little", signed=True), dtype=np.uint8)
        for rank, seeder in sampled.items():
            address = seeder.streams_at(Address(task="train", epoch=epoch), False, None)(SOURCE).address
            assert rows[rank].tobytes() == address.encoded, (epoch, rank)
        read = rows[:, epoch_at : epoch_at + 8].copy().view("<i8")[:, 0] * ranks
        read += rows[:, rank_at : rank_at + 8].copy().view("<i8")[:, 0]
        wrong += int(read[0] <= last) + int((np.diff(read) <= 0).sum())
        last = int(read[-1])
    return wrong


def repeated_streams(ranks: int, epochs: int, sample: int) -> tuple[int, int]:
    """Return how many streams were drawn, of ranks spread over the world and all epochs, and how many repeat."""
    chosen = np.unique(np.linspace(0, ranks - 1, max(sample // epochs, 1)).astype(int))
    bits = np.empty(len(chosen) * epochs, dtype=np.uint64)
    for index, rank in enumerate(chosen.tolist()):
        bits[index * epochs : (index + 1) * epochs] = first_bits(rank_of_run(rank, ranks), range(epochs))
    bits.sort()
    return len(bits), int((bits[1:] == bits[:-1]).sum())


def seconds(action: Callable[[], object], count: int) -> float:
    """Return the least time of one of ``count``, over rounds."""
    times = []
    for _ in range(7):
        start = time.perf_counter()
        action()
        times.append((time.perf_counter() - start) / count)
    return min(times)


def cost_of_rank(world: int, epochs: int = 500) -> dict[str, float]:
    """Return seconds a stream, and bytes held, of the last rank of a world."""
    seeder = rank_of_run(world - 1, world)
    once = seconds(lambda: first_bits(seeder, range(epochs)), epochs)
    tracemalloc.start()
    kept = [rank_of_run(world - 1, world) for _ in range(100)]
    held = tracemalloc.get_traced_memory()[0] / len(kept)
    tracemalloc.stop()
    return {"seconds": once, "bytes": held}


def cost_ratios(worlds: list[int]) -> dict[int, tuple[float, float]]:
    """Return time and memory of a rank of each world, as ratios to those of a run of one rank.

    Of interleaved rounds the smallest counts: the machine's noise only adds.
    """
    rounds = [{world: cost_of_rank(world) for world in (1, *worlds)} for _ in range(5)]

    def least(world: int, what: str) -> float:
        return min(costs[world][what] for costs in rounds)

    return {
        world: (least(world, "seconds") / least(1, "seconds"), least(world, "bytes") / least(1, "bytes"))
        for world in worlds
    }


def main() -> int:
    """Print the figures; 1 if anything repeats."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ranks", type=int, default=100_000)
    parser.add_argument("--epochs", type=int, default=1_000)
    parser.add_argument("--sample", type=int, default=10_000_000, help="streams to draw")
    parser.add_argument("--quick", action="store_true", help="2,000 ranks, 100 epochs, 200,000 streams")
    args = parser.parse_args()
    ranks, epochs, sample = (2_000, 100, 200_000) if args.quick else (args.ranks, args.epochs, args.sample)
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}")
    wrong = repeated_addresses(ranks, epochs)
    print(f"{ranks:,} ranks x {epochs:,} epochs = {ranks * epochs:,} addresses: {wrong} repeat")
    start = time.perf_counter()
    drawn, repeats = repeated_streams(ranks, epochs, sample)
    print(f"{drawn:,} streams, {(time.perf_counter() - start) / drawn * 1e6:.1f} us each: {repeats} repeat")
    print("cost of the last rank of a world, against a world of one: time a stream, memory of a seeder")
    for world, (duration, held) in cost_ratios([2, 64, 4_096, ranks]).items():
        print(f"{world:>9,} ranks   {duration:5.2f}   {held:5.2f}")
    return int(bool(wrong or repeats))


if __name__ == "__main__":
    sys.exit(main())
