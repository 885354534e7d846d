"""Train a small CNN on the handwritten digits that scikit-learn ships, so that every run can be replayed and resumed.

    python examples/digits.py --seed 1 --epochs 3 --save run.pt
    python examples/digits.py --epochs 3 --save run.pt --resume run.pt          # after it was stopped, anywhere
    torchrun --nproc-per-node 2 examples/digits.py --seed 1 --epochs 3 --save run.pt

It has what makes reproducing hard: dropout, random augmentation of three kinds (one transform owns a generator),
shuffling, worker processes, an optimizer and a scheduler with state.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split

import reproseed as rs


class Shift:
    """Move the picture by up to one pixel; owns its generator, as transforms of many libraries do."""

    def __init__(self) -> None:
        self.rng = random.Random()

    def __call__(self, image: torch.Tensor) -> torch.Tensor:
        """Return the moved picture."""
        return torch.roll(image, (self.rng.randint(-1, 1), self.rng.randint(-1, 1)), dims=(-2, -1))


class Digits(Dataset[tuple[torch.Tensor, int]]):
    """1,797 pictures of 8 x 8, augmented by a shift, noise from torch, and a contrast from NumPy."""

    def __init__(self) -> None:
        images, labels = load_digits(return_X_y=True)
        self.images = torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
        self.labels = labels.tolist()
        self.shift = Shift()

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        image = self.shift(self.images[index]) * np.random.uniform(0.8, 1.2)
        return image + 0.05 * torch.randn(1, 8, 8), self.labels[index]


def build() -> nn.Module:
    """Return a small CNN with dropout."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.BatchNorm2d(16), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Dropout(0.3), nn.Linear(512, 10),
    )  # fmt: skip


@rs.seeded(task="eval", restore=True)  # leaves no trace in the training, and the same noise at every call
def evaluate(model: nn.Module, loader: DataLoader[Any]) -> float:
    """Return the share of right answers."""
    model.eval()
    with torch.no_grad():
        right = sum((model(images).argmax(1) == labels).sum().item() for images, labels in loader)
    model.train()
    return float(right) / len(loader.dataset)  # type: ignore[arg-type]  # a Subset has a length


def save(path: Path | None, state: dict[str, Any]) -> None:
    """Write a checkpoint in one piece: a signal in the middle leaves the earlier one."""
    if path is not None and (not dist.is_initialized() or dist.get_rank() == 0):
        temporary = path.with_suffix(".tmp")
        torch.save(state, temporary)
        os.replace(temporary, path)


def train(args: argparse.Namespace) -> None:
    """Train, from the start or from a checkpoint."""
    state = torch.load(args.resume) if args.resume else None  # plain weights_only loading works
    rs.init(master_seed=args.seed, resume=state and state["rng"])  # None: drawn once, the same on all ranks
    print(f"master seed {rs.get_master_seed()}")

    data = Digits()
    rs.register_generator(within=data, name="digits")
    parts = random_split(data, [0.8, 0.2], generator=rs.stream("split", shared=True).torch_generator())
    loader = rs.data.seeded_loader(
        parts[0], batch_size=args.batch_size, shuffle=True, num_workers=args.num_workers
    )  # a sample's noise belongs to the sample: equal for any number of workers
    test_loader = DataLoader(parts[1], 256)

    model: nn.Module = build()  # set-up code runs on the base stream: equal on all ranks
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.7)
    losses: list[float] = []
    if state:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        losses = state["losses"]
    wrapped = nn.parallel.DistributedDataParallel(model) if dist.is_initialized() else model

    def checkpoint() -> dict[str, Any]:
        parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
        return {name: part.state_dict() for name, part in parts.items()} | {"losses": losses, "rng": rs.state_dict()}

    for epoch in rs.epochs(args.epochs):  # starts where the checkpoint stopped
        with rs.seeded(task="train", epoch=epoch):
            for step, (images, labels) in rs.steps(loader):  # resumes inside the epoch, exactly
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(wrapped(images), labels)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
                if step % args.save_every == 0:
                    save(args.save, checkpoint())
                rs.verify.log_metric("loss", loss, step=len(losses) - 1, epoch=epoch)  # for `reproseed verify`
                log(args.log, {"epoch": epoch, "step": step, "loss": losses[-1]})
            scheduler.step()
        accuracy = evaluate(model, test_loader)
        rs.verify.log_metric("eval/accuracy", accuracy, step=len(losses) - 1, epoch=epoch)
        print(f"epoch {epoch}: loss {losses[-1]:.4f}, accuracy {accuracy:.3f}")
        save(args.save, checkpoint())
    rs.verify.final_state(model=model, optimizer=optimizer)


def log(path: Path | None, record: dict[str, Any]) -> None:
    """Append a line of JSON."""
    if path is not None:
        with path.open("a") as file:
            file.write(json.dumps(record) + "\n")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, help="master seed; drawn if left out")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--num-workers", type=int, default=0)
    parser.add_argument("--save", type=Path, help="checkpoint to write")
    parser.add_argument("--save-every", type=int, default=5, help="steps between checkpoints")
    parser.add_argument("--resume", type=Path, help="checkpoint to go on from")
    parser.add_argument("--log", type=Path, help="JSON lines, one a step")
    args = parser.parse_args()
    torch.set_num_threads(1)  # equal floats need an equal number of threads
    if "RANK" in os.environ:
        dist.init_process_group("gloo")
    try:
        train(args)
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


if __name__ == "__main__":
    main()
