"""Train on the digits with 4 ranks, kill one in the middle of an epoch, go on with 2, and compare with a whole run.

    python examples/ddp_elastic.py                  # all of it, under DistributedDataParallel
    python examples/ddp_elastic.py --sharded        # the same under FSDP2 (fully_shard)

or by hand:

    torchrun --nproc-per-node 4 examples/ddp_elastic.py --folder run --kill-at 1 4
    torchrun --nproc-per-node 2 examples/ddp_elastic.py --folder run

An epoch's order is one for all ranks, and a sample's augmentation belongs to the sample, so that both are equal on any
number of ranks. What is drawn once a step for the whole batch is drawn in a shared scope. The gradients are averaged in
an order that depends on the ranks: the losses part by rounding, and the comparison says by how much. Dropout and
BatchNorm are left out, because they belong to a rank and the samples that it holds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from sklearn.datasets import load_digits
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

import reproseed as rs
from reproseed.integrations.distributed import RunState, read_state


class Digits(torch.utils.data.Dataset[tuple[int, torch.Tensor, int]]):
    """Pictures of 8 x 8, augmented by draws from Python, NumPy and torch; each comes with its index."""

    def __init__(self, count: int) -> None:
        images, labels = load_digits(return_X_y=True)
        self.images = torch.tensor(images[:count], dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
        self.labels = labels[:count].tolist()

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[int, torch.Tensor, int]:
        image = torch.roll(self.images[index], random.randint(-1, 1), dims=-1) * np.random.uniform(0.8, 1.2)
        return int(index), image + 0.05 * torch.randn(1, 8, 8), self.labels[index]


def build(sharded: bool) -> nn.Module:
    """Return the wrapped model; its weights are drawn on the base stream, which is equal on all ranks."""
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10)
    )
    if not sharded:
        return nn.parallel.DistributedDataParallel(model)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    fully_shard(model, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    return model


def latest(folder: Path) -> Path | None:
    """Return the newest checkpoint that is whole: its ``.metadata`` is written last."""
    return max((path.parent for path in folder.glob("*/.metadata")), default=None)


def train(args: argparse.Namespace) -> None:
    """Train on this rank, from the start or from the newest checkpoint in the folder."""
    saved = latest(args.folder)
    rs.init(args.seed, resume=read_state(saved) if saved else None)
    data = Digits(args.samples)
    loader = rs.data.seeded_loader(data, global_batch_size=args.batch_size, shuffle=True, drop_last=True)
    model = build(args.sharded)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    seen = torch.zeros(len(data), dtype=torch.int64)  # how often each sample was trained on, in all runs together

    def parts() -> dict[str, Any]:
        weights, momentum = get_state_dict(model, optimizer)
        return {"model": weights, "optimizer": momentum, "seen": seen}

    if saved:
        state = parts()
        dcp.load(state, checkpoint_id=saved)
        set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    for epoch in rs.epochs(args.epochs):
        with rs.seeded(task="train", epoch=epoch):
            for step, (indices, images, labels) in rs.steps(loader):
                with rs.seeded(task="smoothing", epoch=epoch, step=step, shared=True):
                    smoothing = 0.1 * torch.rand(()).item()  # one for the whole batch: equal on all ranks
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(images), labels, label_smoothing=smoothing)
                loss.backward()
                optimizer.step()
                note(args.folder, epoch, step, indices, images, loss, smoothing, seen)
                if step % args.save_every == args.save_every - 1:
                    name = f"{epoch:04}-{step:06}"
                    dcp.save({**parts(), "rng": RunState()}, checkpoint_id=args.folder / name)
                if [epoch, step] == args.kill_at and dist.get_rank() == dist.get_world_size() - 1:
                    os.kill(os.getpid(), signal.SIGKILL)
    if dist.get_rank() == 0:
        (args.folder / "seen.json").write_text(json.dumps(seen.tolist()))


def note(
    folder: Path,
    epoch: int,
    step: int,
    indices: torch.Tensor,
    images: torch.Tensor,
    loss: torch.Tensor,
    smoothing: float,
    seen: torch.Tensor,
) -> None:
    """Append what all ranks did in a step as a line of JSON."""
    hashes = [hashlib.blake2b(image.numpy().tobytes(), digest_size=8).hexdigest() for image in images]
    mine = {
        "batch": sorted(zip(indices.tolist(), hashes, strict=True)),
        "loss": loss.item(),
        "private": [random.random(), float(np.random.rand()), torch.rand(()).item()],
    }
    every: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(every, mine)
    batch = sorted(pair for one in every for pair in one["batch"])
    seen[[index for index, _ in batch]] += 1
    if dist.get_rank() == 0:
        record = {"epoch": epoch, "step": step, "batch": batch, "smoothing": smoothing}
        record |= {"loss": sum(one["loss"] for one in every) / len(every), "private": [one["private"] for one in every]}
        with (folder / "log.jsonl").open("a") as file:
            file.write(json.dumps(record) + "\n")


def read_log(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of a run's log, without one that a kill has cut."""
    lines = (folder / "log.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]


def compare(whole: Sequence[dict[str, Any]], parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Compare a whole run with the lines of one that was stopped and resumed, redone steps included.

    Returns:
        whether global batches with their augmentations, shared draws and each rank's private draws are equal and no
        step is missing, and the largest relative difference of the losses.
    """
    wanted = {(one["epoch"], one["step"]): one for one in whole}
    pairs = [(wanted[one["epoch"], one["step"]], one) for one in parts]
    return {
        "steps": {(one["epoch"], one["step"]) for one in parts} == wanted.keys(),
        "batches": all(a["batch"] == b["batch"] for a, b in pairs),
        "shared draws": all(a["smoothing"] == b["smoothing"] for a, b in pairs),
        "private draws": all(x == y for a, b in pairs for x, y in zip(a["private"], b["private"], strict=False)),
        "loss": max(abs(a["loss"] - b["loss"]) / abs(a["loss"]) for a, b in pairs),
    }


def demonstrate(args: argparse.Namespace) -> int:
    """Run the whole, the killed and the resumed training, and print what differs; 1 if it is more than losses."""

    def run(ranks: int, folder: Path, *more: str) -> int:
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
        command += [__file__, "--folder", str(folder), "--epochs", str(args.epochs), "--seed", str(args.seed)]
        command += ["--samples", str(args.samples), *(["--sharded"] if args.sharded else []), *more]
        return subprocess.run(command, stderr=subprocess.DEVNULL, timeout=600, check=False).returncode

    top = Path(tempfile.mkdtemp())
    try:
        (top / "whole").mkdir()
        (top / "parts").mkdir()
        assert run(4, top / "whole") == 0
        assert run(4, top / "parts", "--kill-at", str(args.epochs - 1), "4") != 0, "no fifth step: more --samples"
        assert run(2, top / "parts") == 0
        result = compare(read_log(top / "whole"), read_log(top / "parts"))
        result["seen"] = (top / "whole" / "seen.json").read_text() == (top / "parts" / "seen.json").read_text()
    finally:
        shutil.rmtree(top)
    loss = result.pop("loss")
    for name, equal in result.items():
        print(f"{name:14} {'equal' if equal else 'DIFFERENT'}")
    print(f"{'losses':14} differ by {loss:.1e} of their value at most")
    return int(not all(result.values()))


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line; under torchrun, be one rank."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, help="log and checkpoints, for a rank under torchrun")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--samples", type=int, default=480)
    parser.add_argument("--batch-size", type=int, default=48, help="of all ranks together")
    parser.add_argument("--save-every", type=int, default=3, help="steps between checkpoints")
    parser.add_argument("--sharded", action="store_true", help="FSDP2 instead of DistributedDataParallel")
    parser.add_argument("--kill-at", type=int, nargs=2, metavar=("EPOCH", "STEP"), help="kill the last rank there")
    args = parser.parse_args(argv)
    if "RANK" not in os.environ:
        return demonstrate(args)
    args.folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    try:
        train(args)
    finally:
        dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
