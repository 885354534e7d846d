"""Uses the whole public API as a typed program does; mypy --strict reads it, nothing runs it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

import reproseed as rs

seeder: rs.Seeder = rs.init(42)
rs.init(None, 2, 0)
rs.init(
    master_seed=42,
    rank=0,
    world_size=1,
    coordinates={"dp": 0},
    task_seeds={"init": 7, 1: 8},
    devices="distinct",
    deterministic=rs.deterministic("warn", threads=1),
    derivation=1,
    resume=None,
)
initialized: bool = rs.is_initialized()
master_seed: int = rs.get_master_seed()
rs.reseed(0, 0)
rs.reseed("train", 3, step=4, shared=True, fold=2)

rs.register_generator(random.Random(), name="crop")
rs.register_generator(np.random.default_rng(), True)
rs.register_generator(within=[torch.Generator()])
rs.unregister_generator("crop")

with rs.seeded(task="train", epoch=1, step=2, master_seed=3, shared=False, restore=True, fold=4) as scope:
    address: Any = scope.address
    seeds: dict[str, int] = scope.seeds()
    before: rs.Snapshot = scope.before
    inner: rs.Stream = scope.stream("noise", trial=1)
    with scope.at(trial=2, restore=True):
        pass
    for step, batch in scope.steps(["a", "b"]):
        text: str = batch
        number: int = step
    for _, item in rs.steps(10):
        index: int = item
    for _, item in scope.steps(10):
        index = item
    innermost = rs.current()

with rs.preserved(check="error"):
    pass

with rs.deterministic("error", tf32=False, attention=["math"], flags={"cudnn.enabled": False}):
    pass


@rs.deterministic("off").covers_backward
def pool(x: torch.Tensor) -> torch.Tensor:
    return x


pooled: torch.Tensor = pool(torch.ones(1))
with rs.testing.watch_seeding("error"), rs.testing.watch_addresses(allow=["eval"]):
    pass


@rs.seeded(task="eval", restore=True, fold=rs.arg("fold"))
def evaluate(model: torch.nn.Module, fold: int) -> float:
    return 0.0


@rs.seeded_epoch
def train(epoch: int) -> str:
    return ""


@rs.seeded_epoch(task="train", epoch="ep", restore=False)
def train_again(ep: int) -> str:
    return ""


@rs.seeded(task="batches")
def batches() -> Iterator[int]:
    yield 1


@rs.seeded(task="async")
async def fetch() -> int:
    return 1


class Model:
    @rs.seeded(task="method")
    def method(self, value: int) -> int:
        return value

    @classmethod
    @rs.seeded(task="class method")
    def make(cls) -> Model:
        return cls()


loss: float = evaluate(torch.nn.Linear(1, 1), 3)
trained: str = train(0) + train_again(ep=1)
value: int = Model().method(3)

for epoch in rs.epochs(3, fold=1):
    epoch_number: int = epoch

stream: rs.Stream = rs.stream("split", shared=True, trial=3)
seed: int = stream.seed(bits=64)
raw: bytes = stream.bytes(8)
torch_generator: torch.Generator = stream.torch_generator("cpu")
numpy_generator: np.random.Generator = stream.numpy_generator()
python_generator: random.Random = stream.python_random()
later: rs.Stream = stream.at(trial=4)

snapshot: rs.Snapshot = rs.snapshot()
moved: list[str] = snapshot.moved()
differing: list[str] = snapshot.differs(rs.snapshot())
snapshot.restore()

state: dict[str, Any] = rs.state_dict("same")
rs.load_state_dict(state, strict=False)
text_form: str = seeder.to_json()
rs.load_state_dict(text_form)
again: dict[str, Any] = rs.Seeder.from_json(text_form)
other = rs.Seeder(7, task_seeds={"init": 3})
with other.seeded(task="x"):
    pass
remaining: list[int] = list(other.epochs(2))
found: dict[str, Any] = rs.sources.find_generators([random.Random()])

errors: tuple[type[rs.ReproseedError], ...] = (
    rs.CaptureError,
    rs.ConcurrentScopeError,
    rs.CoordinateTypeError,
    rs.CoordinateValueError,
    rs.DecorationError,
    rs.NotInitializedError,
    rs.RankError,
    rs.ScopeError,
    rs.SeedRangeError,
    rs.SourceError,
    rs.StateError,
    rs.StateMismatchError,
    rs.DeterminismError,
    rs.StraySeedingError,
    rs.UnexpectedDrawError,
)
warnings: tuple[type[rs.ReproseedWarning], ...] = (
    rs.DeterminismWarning,
    rs.StraySeedingWarning,
    rs.NarrowSeedWarning,
    rs.NotRestorableWarning,
    rs.RankWarning,
    rs.RepeatedAddressWarning,
    rs.ResumeWarning,
    rs.ScopeOrderWarning,
    rs.UnenteredScopeWarning,
)
