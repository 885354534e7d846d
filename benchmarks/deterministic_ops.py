"""What determinism costs: each replacement, and the mode itself, against the plain operation, as ratios.

    python benchmarks/deterministic_ops.py [--device cuda] [--rounds 20]

Plain and other form run by turns in one process; a ratio is that of the shortest times, so that a busy machine does
not show. Forward and backward together. On the CPU, where the replacements call the plain operation, their form for
devices is timed. Sizes are those of a training step, not of a test.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

import reproseed as rs
from reproseed.determinism import replacements

ROWS, COLUMNS, PICKS = 20_000, 64, 100_000
Case = tuple[Callable[[], Tensor], Callable[[], Tensor]]


def cases(device: str) -> dict[str, Case]:
    """Return plain operation and replacement, by name."""
    x = torch.randn(ROWS, COLUMNS, device=device, requires_grad=True)
    source = torch.randn(PICKS, COLUMNS, device=device, requires_grad=True)
    index = torch.randint(ROWS, (PICKS,), device=device)
    wide = index[:, None].expand(PICKS, COLUMNS).contiguous()
    images = torch.randn(8, 16, 64, 64, device=device, requires_grad=True)
    return {
        "index_add": (
            lambda: torch.index_add(x, 0, index, source),
            lambda: replacements.index_add(x, 0, index, source, everywhere=True),
        ),
        "index_select": (
            lambda: torch.index_select(x, 0, index),
            lambda: replacements.index_select(x, 0, index, everywhere=True),
        ),
        "gather": (lambda: torch.gather(x, 0, wide), lambda: replacements.gather(x, 0, wide, everywhere=True)),
        "scatter_add": (
            lambda: torch.scatter_add(x, 0, wide, source),
            lambda: replacements.scatter_add(x, 0, wide, source, everywhere=True),
        ),
        "cumsum": (lambda: torch.cumsum(x, 0), lambda: replacements.cumsum(x, 0, everywhere=True)),
        "upsample_bilinear": (
            lambda: functional.interpolate(images, scale_factor=2.0, mode="bilinear"),
            lambda: replacements.upsample_bilinear(images, scale_factor=2.0, everywhere=True),
        ),
    }


def step(forward: Callable[[], Tensor], device: str) -> float:
    """Return the seconds of one forward and backward."""
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    forward().sum().backward()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def under_mode(forward: Callable[[], Tensor], device: str) -> float | None:
    """Return the seconds of one step under deterministic algorithms, None where the operation refuses."""
    with rs.deterministic("error", workspace=None):
        try:
            return step(forward, device)
        except RuntimeError as error:
            if rs.determinism.explain(error) is None:
                raise
            return None


def main() -> None:
    """Print one line an operation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=20)
    given = parser.parse_args()
    name = torch.cuda.get_device_name() if given.device == "cuda" else platform.processor() or platform.machine()
    print(
        f"torch {torch.__version__}, {given.device} ({name}), {torch.get_num_threads()} threads, {given.rounds} rounds"
    )
    print(f"{'operation':<20}{'plain':>10}{'replacement':>14}{'under the mode':>16}")
    for operation, (plain, replacement) in cases(given.device).items():
        times: list[list[float | None]] = [[], [], []]
        for _ in range(given.rounds + 1):
            times[0].append(step(plain, given.device))
            times[1].append(step(replacement, given.device))
            times[2].append(under_mode(plain, given.device))
        best = [None if None in column else min(t for t in column[1:] if t is not None) for column in times]
        assert best[0] is not None
        ratios = ["raises" if t is None else f"{t / best[0]:.2f}" for t in best[1:]]
        print(f"{operation:<20}{best[0] * 1e3:>7.2f} ms{ratios[0]:>14}{ratios[1]:>16}")


if __name__ == "__main__":
    main()
