"""What runs in a child: a DataLoader worker, or a process of the user's own.

A child has no run: a forked one's is taken away, a spawned one never had any. What is passed to it by pickling, or
inherited by forking, brings the run along; then scopes work, on streams that are the child's own.
"""

from __future__ import annotations

import multiprocessing.reduction
from collections.abc import Callable
from typing import Any

import torch
import torch.utils.data

from reproseed import mersenne, run, stack
from reproseed.address import Value, check_value
from reproseed.data.header import Header, Run, around
from reproseed.errors import NotInitializedError, ScopeError
from reproseed.seeder import Seeder
from reproseed.sources.discovery import find_generators
from reproseed.sources.numpy import NumpySource
from reproseed.sources.objects import ObjectSource
from reproseed.sources.python import PythonSource
from reproseed.sources.torch_cpu import TorchCpuSource


class ChildSeeder(Seeder):
    """The run as a child has it: its private streams hold the child's number."""

    parent: Run = ()


def in_worker() -> bool:
    """Whether this is a DataLoader worker.

    Raises:
        ScopeError: it is a thread of the training process, whose generators it would move.
    """
    info = torch.utils.data.get_worker_info()
    if info is None:
        return False
    if getattr(info, "worker_method", "process") == "thread":
        raise ScopeError(
            "workers that are threads share the generators of the training process: use processes as workers."
        )
    return True


def adopt(header: Header, number: Value | None = None) -> Seeder:
    """Make the run of a header current in a child, and return it; where it is current already, change nothing.

    Args:
        header: of the batch that the child is to draw: under workers that live on, the run may be another by then.
        number: of the child; by default the worker's id.
    """
    current = run._current
    if isinstance(current, ChildSeeder) and current.parent == header.run:
        return current
    info = torch.utils.data.get_worker_info()
    number = info.id if number is None and info is not None else number
    seeder = header.seeder
    child = ChildSeeder(
        seeder.master_seed,
        place=seeder.place,
        coordinates=seeder.coordinates | ({} if number is None else {"worker": number}),
        task_seeds=seeder.task_seeds,
        derivation=seeder.derivation,
        seeding=seeder.seeding,
    )
    child.parent = header.run
    run.adopt(child)
    return child


def begin_child(header: Header, number: Value, held: object = None) -> None:
    """Make the run current and put the process on the streams of (address, rank, worker).

    Args:
        header: the run, and the address at which the child was started.
        number: of the child.
        held: an object whose generators are put on streams of their own.
    """
    child = adopt(header, number)
    if not child.seeding:
        return
    child.stand_at(header.address, False, header.master_seed)
    address = header.address.extended(**child.coordinates)
    here = Header(header.seeder, header.master_seed, address)
    for source in (PythonSource(), NumpySource(), TorchCpuSource()):
        source.seed(here.stream(f"worker.{source.name.partition('.')[0]}"))
    for one in sources_in(held, names=("dataset",)):
        one.seed(here.stream(one.label))


def sources_in(*held: object, names: tuple[str, ...] = ("dataset",)) -> list[ObjectSource]:
    """Return the generators that objects hold, each once, named by the object's name and the path in it."""
    found = find_generators(list(held))
    sources = []
    for path, generator in found.items():
        place, _, rest = path[1:].partition("]")
        sources.append(ObjectSource(generator, names[int(place)] + rest, True))
    return sources


class WorkerInit:
    """The ``worker_init_fn`` of our loaders: ours, then the user's."""

    def __init__(self, then: Callable[[int], None] | None) -> None:
        self.then = then
        self.header: Header | None = None

    def __call__(self, worker_id: int) -> None:
        """Begin the worker; runs in it, once."""
        info = torch.utils.data.get_worker_info()
        if self.header is not None and in_worker():
            begin_child(self.header, worker_id, None if info is None else info.dataset)
        if self.then is not None:
            self.then(worker_id)


class ChildSeeding:
    """What `seed_worker` and `seed_child` are: callables that bring the run along when they are pickled."""

    def __init__(self, name: str, header: Header | None = None) -> None:
        self.__name__ = self._name = name
        self._header = header

    def __call__(self, number: Value) -> None:
        """Seed the process that this runs in as the child of this number."""
        header = self._header or _of_parent()
        if header is None:
            raise NotInitializedError(
                f"rs.data.{self._name}({number!r}): this process knows of no run. Call rs.init(master_seed=...) before "
                f"it is started, and pass rs.data.{self._name} itself to it, as worker_init_fn or as an argument: "
                "under spawn it brings the run along."
            )
        if self._name == "seed_worker":
            info = torch.utils.data.get_worker_info()
            begin_child(header, int(number), None if info is None else info.dataset)
        else:
            begin_child(header, f"child:{check_value('child', number)!r}")

    def __deepcopy__(self, memo: Any) -> ChildSeeding:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return ChildSeeding, (self._name, self._header or _of_parent())

    def __repr__(self) -> str:
        return f"reproseed.data.{self._name}"


def _of_parent() -> Header | None:
    """Return the run and the place in it of this process, or, in a forked child, of the one that made it."""
    entry = next((entry for entry in reversed(stack.entries()) if entry.seeds), None)
    if entry is not None:
        address = around(entry)
        return Header(entry.seeder, entry.seeder.master_of(address, entry.master_seed), address)
    seeder = run._current or run.parents_seeder()
    if seeder is None:
        return None
    return Header(seeder, seeder.master_of(seeder.base, seeder._base_master), seeder.base)


seed_worker = ChildSeeding("seed_worker")
"""A ``worker_init_fn`` for plain loaders: seeds the three libraries by (task, epoch, rank, worker).

The generators that the dataset holds get streams of their own, and scopes work in the worker. The draws still depend
on the number of workers, and workers that live on keep the streams of their first epoch: `seeded_loader` has neither
limit.

>>> import torch, reproseed as rs
>>> loader = torch.utils.data.DataLoader(range(8), num_workers=2, worker_init_fn=rs.data.seed_worker)
"""

seed_child = ChildSeeding("seed_child")
"""Seed a process of one's own by (where it was started, rank, a number or name): ``seed_child(3)``, called in it.

Pass it to the child as an argument, ``Process(target=work, args=(rs.data.seed_child, 3))``: under spawn it brings the
run along, under fork it would find it by itself.
"""


def let_generators_cross() -> None:
    """Let ``torch.Generator`` cross to spawned workers, as bytes.

    Its own way goes through a tensor, which multiprocessing turns into a handle that the child cannot open while it
    unpickles its arguments.
    """
    multiprocessing.reduction.ForkingPickler.register(torch.Generator, _reduce_generator)


def _reduce_generator(generator: torch.Generator) -> tuple[Any, ...]:
    return _generator, (str(generator.device), mersenne.torch_state(generator))


def _generator(device: str, state: bytes) -> torch.Generator:
    generator = torch.Generator(device=device)
    mersenne.set_torch_state(generator, state)
    return generator
