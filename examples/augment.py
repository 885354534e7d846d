"""Draw one picture: augmented digits for several numbers of workers and ranks, by a plain loader and by ours.

    python examples/augment.py --out augment.png

Each row is one sample of the digits that scikit-learn ships, each column a way to load the data. What differs from the
panel's first column is framed. The plain loader is seeded with all that a pasted ``set_seed`` holds before each column.
"""

# reproseed: ignore-file[RS101, RS102, RS103, RS104, RS107, RS108, RS201, RS203] - it shows what a plain loader does
from __future__ import annotations

import argparse
import math
import random
import warnings
from typing import Any

import matplotlib as mpl
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, DistributedSampler

import reproseed as rs

mpl.use("Agg")
import matplotlib.pyplot as plt

WAYS = ((1, 0), (1, 2), (1, 4), (2, 0), (2, 2))  # ranks, workers
SHOWN = 6
INK, FRAME = "#1d3557", "#d1495b"


class Digits(torch.utils.data.Dataset[tuple[int, torch.Tensor]]):
    """Digits of 8 x 8 pixels, turned by torch, shifted by Python's generator, and made noisy by NumPy's."""

    def __init__(self) -> None:
        self.images = torch.tensor(load_digits().images[:24], dtype=torch.float32) / 16

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[int, torch.Tensor]:
        angle = (float(torch.rand(())) - 0.5) * math.pi / 1.5
        shift = [random.uniform(-0.4, 0.4) for _ in range(2)]
        turn = torch.tensor(
            [[math.cos(angle), -math.sin(angle), shift[0]], [math.sin(angle), math.cos(angle), shift[1]]]
        )
        grid = torch.nn.functional.affine_grid(turn[None], [1, 1, 24, 24], align_corners=False)
        image = torch.nn.functional.grid_sample(self.images[index][None, None], grid, align_corners=False)[0, 0]
        return index, image + torch.tensor(np.random.normal(0, 0.12, (24, 24)), dtype=torch.float32)


def collect(loaders: list[Any]) -> dict[int, torch.Tensor]:
    """Return the augmented sample of each index, over the loaders of all ranks."""
    return {int(i): x for loader in loaders for indices, images in loader for i, x in zip(indices, images, strict=True)}


def plain(seed: int, ranks: int, workers: int) -> dict[int, torch.Tensor]:
    """Load an epoch as scripts usually do: each rank is a process that was seeded alike."""
    seen = {}
    for rank in range(ranks):
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        data = Digits()
        sampler = DistributedSampler(data, num_replicas=ranks, rank=rank)
        seen |= collect([DataLoader(data, 4, sampler=sampler, num_workers=workers)])
    return seen


def ours(seed: int, ranks: int, workers: int) -> dict[int, torch.Tensor]:
    """Load an epoch by the place in the run."""
    options = {"batch_size": 4, "shuffle": True, "num_workers": workers, "world_size": ranks}
    with rs.seeded(master_seed=seed, task="train", epoch=0):
        return collect([rs.data.seeded_loader(Digits(), rank=rank, **options) for rank in range(ranks)])


def panel(figure: Any, title: str, columns: list[dict[int, torch.Tensor]]) -> int:
    """Draw one panel; return how many of its samples are not those of the first column."""
    figure.suptitle(title, fontsize=12, color=INK, fontweight="bold")
    axes = figure.subplots(SHOWN, len(columns))
    for column, (samples, (ranks, workers)) in enumerate(zip(columns, WAYS, strict=True)):
        for row in range(SHOWN):
            axis = axes[row, column]
            axis.imshow(samples[row], cmap="gray_r", vmin=-0.2, vmax=1.1)
            axis.set(xticks=[], yticks=[])
            other = not torch.equal(samples[row], columns[0][row])
            for spine in axis.spines.values():
                spine.set(color=FRAME if other else "#cccccc", linewidth=2.5 if other else 0.8)
        axes[0, column].set_title(f"{ranks} rank{'s' * (ranks > 1)}\n{workers} workers", fontsize=9, color=INK)
    return sum(not torch.equal(x, columns[0][index]) for samples in columns for index, x in samples.items())


def main() -> int:
    """Draw the picture; return 1 unless all of our columns are the same and the plain loader's are not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="augment.png", help="the picture's path")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message="This DataLoader will create")  # 4 workers on a small machine
    figure = plt.figure(figsize=(11, 6.6), layout="constrained")
    left, right = figure.subfigures(1, 2, wspace=0.06)
    of_ours = panel(left, "reproseed.data.seeded_loader", [ours(args.seed, *way) for way in WAYS])
    of_plain = panel(right, "torch DataLoader, seeded in each column", [plain(args.seed, *way) for way in WAYS])
    figure.supxlabel("one row: one sample; framed: differs from the panel's first column", fontsize=9, color=INK)
    figure.savefig(args.out, dpi=130, facecolor="white")
    total = len(Digits()) * (len(WAYS) - 1)
    print(f"seeded_loader: {of_ours} of {total} samples differ from 1 rank without workers")
    print(f"DataLoader:    {of_plain} of {total} samples differ")
    print(f"picture: {args.out}")
    return int(of_ours != 0 or of_plain == 0)


if __name__ == "__main__":
    raise SystemExit(main())
