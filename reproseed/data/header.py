"""What travels with a batch from the main process to a worker: which run, and where in it.

Workers outlive epochs, start before samplers are read, and under spawn know nothing of the process that made them.
So the address is no attribute of the dataset and no shared memory: each index carries it, also where a trainer makes
plain lists of batches, and a batch writes it once.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from reproseed import run, stack
from reproseed.address import Address, Value
from reproseed.derivation import FANS, draw_master_seed
from reproseed.errors import ScopeError
from reproseed.ranks import Place
from reproseed.seeder import Seeder
from reproseed.stack import Entry
from reproseed.streams import Stream

if TYPE_CHECKING:
    from typing_extensions import Self

Run = tuple[Any, ...]


class Header:
    """The run and the address of one pass over the data. Equal headers of one process are one object in a worker.

    Attributes:
        seeder: the run.
        master_seed: the seed that the pass derives from: the scope's own, the task's, or the run's.
        address: of the pass, without rank and without the step.
        run: the run in plain types, by which a worker tells whether it knows it.
    """

    def __init__(self, seeder: Seeder, master_seed: int, address: Address) -> None:
        self.seeder = seeder
        self.master_seed = master_seed
        self.address = address
        self.fans: dict[str, Callable[[Value, int], bytes]] = {}
        self.run: Run = (
            seeder.master_seed,
            seeder.derivation,
            tuple(seeder.coordinates.items()),
            seeder.place,
            tuple(seeder.task_seeds.items()),
            seeder.seeding,
        )

    def fan(self, label: str) -> Callable[[Value, int], bytes]:
        """Return the streams of a label over all samples: a function of the sample and of a number of bytes."""
        if label not in self.fans:
            fan = FANS[self.seeder.derivation]
            self.fans[label] = fan(self.master_seed, self.address, "sample", label)
        return self.fans[label]

    def stream(self, label: str, **coordinates: Value) -> Stream:
        """Return one stream at this address, with coordinates added."""
        address = self.address.extended(**coordinates) if coordinates else self.address
        return Stream(self.master_seed, address, label, self.seeder.derivation)

    def at(self, **coordinates: Value) -> Header:
        """Return the header of an address with coordinates replaced."""
        return Header(self.seeder, self.master_seed, self.address.extended(**coordinates))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Header) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.run, self.master_seed, self.address

    def __repr__(self) -> str:
        return f"Header{self.address}"

    @functools.cached_property
    def _packed(self) -> bytes:
        return pickle.dumps(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        # Each batch brings its header along: bytes are written at once, and looked up by a worker that knows them.
        return _unpacked, (self._packed,)


@functools.lru_cache(maxsize=64)
def _unpacked(packed: bytes) -> Header:
    known, master_seed, address = pickle.loads(packed)
    return _header(known, master_seed, address)  # equal ones may have been written as other bytes


@functools.lru_cache(maxsize=64)
def _header(known: Run, master_seed: int, address: Address) -> Header:
    return Header(_seeder(known), master_seed, address)


@functools.lru_cache(maxsize=8)
def _seeder(known: Run) -> Seeder:
    master_seed, derivation, coordinates, place, task_seeds, seeding = known
    return Seeder(
        master_seed,
        place=Place(*place),
        coordinates=dict(coordinates),
        task_seeds=dict(task_seeds),
        derivation=derivation,
        seeding=seeding,
    )


def here(epoch: dict[str, Value] | None = None) -> Header:
    """Return the header of the running code's place: the innermost scope, else the epoch that was set.

    Args:
        epoch: coordinates from `set_epoch`, for trainers that open no scope; a scope with an epoch of its own wins,
            since trainers count their epochs from 0 after a resume.

    Raises:
        ScopeError: no scope is open and no epoch was set.
        NotInitializedError: an epoch was set, and there is no run.
    """
    entry = scope()
    if entry is not None:
        seeder, address, own = entry.seeder, around(entry), entry.master_seed
        if epoch is not None and "epoch" not in address:
            address = address.extended(**epoch)
    elif epoch is not None:
        seeder, address, own = run.current_seeder(), Address(**epoch), None
    else:
        raise ScopeError(
            "Which epoch? Iterate inside seeded(task=..., epoch=...) or call loader.set_epoch(e); otherwise every "
            "epoch has the same order."
        )
    # With seeding switched off each pass is another; ranks still have to agree on the order.
    drawn = not seeder.seeding and seeder.place.world_size == 1
    master_seed = draw_master_seed() if drawn else seeder.master_of(address, own)
    return Header(seeder, master_seed, address)


def scope() -> Entry | None:
    """Return the innermost open scope that seeds."""
    return next((entry for entry in reversed(stack.entries()) if entry.seeds), None)


def around(entry: Entry) -> Address:
    """Return a scope's address without what `steps` adds while it makes an iterator or fetches from it."""
    address = entry.address
    phase = str(address.get("phase", ""))
    if phase.startswith("fetch") and entry.position is not None and entry.position.loops.live:
        loop = entry.position.loops.live[-1]
        outer: Address = loop.outer
        # Two loops in one scope have two names; that of most is left out, so that it need not be a loop of `steps`.
        return outer if loop.name == "step" else outer.extended(phase=f"loop:{loop.name}")
    return address.without("phase") if phase.startswith("iter") else address


class Index(int):
    """The index of a sample, with the header of its pass and its position in the pass's order."""

    header: Header
    position: int

    def __new__(cls, value: SupportsIndex, header: Header, position: int) -> Self:
        """Make an int with two attributes."""
        self = super().__new__(cls, value)
        self.header = header
        self.position = position
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Index, (int(self), self.header, self.position)


class Batch(list[Index]):
    """The indices of one batch. Slices and sums are batches again; pickling writes the header once."""

    @overload
    def __getitem__(self, index: SupportsIndex) -> Index: ...
    @overload
    def __getitem__(self, index: slice) -> Batch: ...
    def __getitem__(self, index: Any) -> Any:
        got = super().__getitem__(index)
        return Batch(got) if isinstance(index, slice) else got

    def __add__(self, other: Any) -> Any:
        return Batch([*self, *other])

    def __radd__(self, other: list[Any]) -> Batch:
        return Batch([*other, *self])

    def __reduce__(self) -> tuple[Any, ...]:
        headers: dict[int, Header] = {}
        for index in self:
            headers.setdefault(id(index.header), index.header)
        places = {key: place for place, key in enumerate(headers)}
        which = [places[id(index.header)] for index in self] if len(headers) > 1 else None
        return _batch, (list(headers.values()), which, [int(i) for i in self], [i.position for i in self])


def _batch(headers: list[Header], which: list[int] | None, values: list[int], positions: list[int]) -> Batch:
    owners: Iterable[Header] = [headers[w] for w in which] if which is not None else headers * len(values)
    return Batch(map(Index, values, owners, positions))
