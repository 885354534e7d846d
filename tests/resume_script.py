"""A training that is stopped anywhere: started by ``test_resume_exact.py`` in processes of its own.

    python resume_script.py FOLDER WORKERS full              train; a checkpoint and a hash after each step
    python resume_script.py FOLDER WORKERS stop STEP HOW     end after a step: by SIGKILL or by an exception
    python resume_script.py FOLDER WORKERS resume STEP...    resume from the checkpoint of each of these steps

Each writes one line of JSON a step: where, the loss's bits, hashes of weights, optimizer and generators.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

import reproseed as rs

EPOCHS, SAMPLES, BATCH = 3, 20, 4


class Jitter:
    """An augmentation with a generator of its own, beside the three global ones."""

    def __init__(self) -> None:
        self.rng = random.Random()

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        scale = self.rng.uniform(0.9, 1.1) + 0.1 * random.random() + 0.1 * float(np.random.randn())
        return x * scale + 0.1 * torch.randn(x.shape)


class Data(torch.utils.data.Dataset[Any]):
    def __init__(self, transform: Jitter) -> None:
        self.x = torch.linspace(-1, 1, SAMPLES * 6).reshape(SAMPLES, 6)
        self.transform = transform

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.transform(self.x[index]), self.x[index].sum()[None]


def _hash(value: Any) -> str:
    state = hashlib.sha256()

    def add(one: Any) -> None:
        if isinstance(one, torch.Tensor):
            state.update(one.detach().numpy().tobytes())
        elif isinstance(one, dict):
            for key in one:
                state.update(str(key).encode())
                add(one[key])
        elif isinstance(one, (list, tuple)):
            for item in one:
                add(item)
        else:
            state.update(repr(one).encode())

    add(value)
    return state.hexdigest()[:16]


def train(folder: Path, workers: int, checkpoint: Path | None = None, stop: int | None = None, how: str = "") -> None:
    saved = None if checkpoint is None else torch.load(checkpoint)
    rs.init(None if saved else 7, resume=saved and saved["rng"])
    transform = Jitter()
    rs.register_generator(transform.rng, name="jitter")
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Dropout(0.5), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    if saved:
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
    loader = torch.utils.data.DataLoader(Data(transform), batch_size=BATCH, shuffle=True, num_workers=workers)
    name = "full" if checkpoint is None and stop is None else f"from-{checkpoint.stem if checkpoint else stop}"
    with (folder / f"{name}.jsonl").open("w") as log:

        def note(*where: Any, loss: float = 0.0) -> None:
            generators = _hash(rs.snapshot().to_plain())
            line = [*where, loss.hex(), _hash(model.state_dict()), _hash(optimizer.state_dict()), generators]
            log.write(json.dumps(line) + "\n")
            log.flush()

        for epoch in rs.epochs(EPOCHS):
            with rs.seeded(task="train", epoch=epoch, restore=epoch != 1):
                for step, (x, y) in rs.steps(loader):
                    optimizer.zero_grad()
                    loss = torch.nn.functional.mse_loss(model(x), y)
                    loss.backward()
                    optimizer.step()
                    note(epoch, step, loss=loss.item())
                    number = epoch * SAMPLES // BATCH + step
                    if checkpoint is None:
                        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                        torch.save(state | {"rng": rs.state_dict()}, folder / f"{number}.pt")
                    if number == stop and how == "kill":
                        os.kill(os.getpid(), signal.SIGKILL)
                    elif number == stop:
                        raise KeyboardInterrupt
                note(epoch, "after", loss=random.random() + float(torch.rand(())))
            note(epoch, "between", loss=random.random() + float(np.random.rand()))


def main(folder: str, workers: str, what: str, *rest: str) -> None:
    torch.set_num_threads(1)
    if what == "full":
        train(Path(folder), int(workers))
    elif what == "stop":
        train(Path(folder), int(workers), stop=int(rest[0]), how=rest[1])
    else:
        for step in rest:
            train(Path(folder), int(workers), Path(folder) / f"{step}.pt")


if __name__ == "__main__":
    main(*sys.argv[1:])
