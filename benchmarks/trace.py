"""Print what recording a run costs, as the ratio of a traced step to an untraced one, and the size of the trace.

    python benchmarks/trace.py

Two models of some million parameters are trained in this process with the recorder in place and without it, in turn
for each pair of steps, and the median over pairs counts: recording hashes parameters and gradients, so that its cost
grows with the model, and matters least where a step computes much for each parameter.
"""

# reproseed: ignore-file[RS101] - both trainings begin alike, by hand
from __future__ import annotations

import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from reproseed.trace import record

LEVELS = ("rng", "state", "tensors")
STEPS = 12


def perceptron() -> tuple[nn.Module, torch.Tensor]:
    """Return 10 million parameters that do little work each."""
    return nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1440)), torch.randn(256, 1024)


def transformer() -> tuple[nn.Module, torch.Tensor]:
    """Return 6.3 million parameters that are used for each of 1,024 tokens."""
    layer = nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.1, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), torch.randn(8, 128, 512)


def steps(make: Callable[[], tuple[nn.Module, torch.Tensor]]) -> list[float]:
    """Train, and return the time of each step in seconds but the first two."""
    torch.manual_seed(1)
    model, x = make()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    times = []
    for _ in range(STEPS):
        start = time.perf_counter()
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        times.append(time.perf_counter() - start)
    return times[2:]


def main() -> None:
    """Print the table."""
    print(f"{platform.machine()}, torch {torch.__version__}, {torch.get_num_threads()} threads; median of {STEPS - 2}")
    print(f"{'model':<14}{'level':<10}{'traced / untraced':>18}{'kB a step':>12}")
    with tempfile.TemporaryDirectory() as folder:
        for make in (perceptron, transformer):
            for level in LEVELS:
                path = Path(folder) / f"{make.__name__}-{level}.jsonl.gz"
                plain = steps(make)
                with record(path, level=level):
                    traced = steps(make)
                plain += steps(make)
                ratio = statistics.median(traced) / statistics.median(plain)
                print(
                    f"{make.__name__:<14}{level:<10}{ratio:>18.2f}{path.stat().st_size / STEPS / 1e3:>12.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
