"""`IterableSeeded`: a stream whose items draw on streams of their own, in whatever worker.

No index comes to an iterable dataset's workers, so they hear of the epoch through a log in shared memory: the main
process numbers its passes and writes each one's header before it makes the iterator; a worker begins with the pass it
was started in and adds one at each further ``__iter__``. A value in one shared place would not do: workers that live on
read it late, when it may be that of the next pass already.
"""

from __future__ import annotations

import functools
import itertools
import json
import multiprocessing.context
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.utils.data

from reproseed import run
from reproseed.address import Address, Value, check_value, integer
from reproseed.data.drawing import LIBRARIES, Drawing, check_libraries
from reproseed.data.header import Header, _header, here
from reproseed.data.order import permutation
from reproseed.data.workers import let_generators_cross, sources_in
from reproseed.errors import CoordinateTypeError, ScopeError
from reproseed.ranks import Place, find_place
from reproseed.sources.objects import ObjectSource

SLOTS = 16
"""Passes that the log holds: more than can be under way at once."""
_BYTES = 4096


class PassLog:
    """The headers of the last passes, in shared memory; a copy that is not made for a worker is a log of its own."""

    def __init__(self) -> None:
        self.number = 0
        slots = torch.zeros((SLOTS, _BYTES), dtype=torch.uint8, device="cpu")
        self._slots: torch.Tensor = slots.share_memory_()  # type: ignore[no-untyped-call]  # torch has no types for it

    def begin(self, header: Header) -> None:
        """Write down the next pass."""
        self.number += 1
        master, derivation, coordinates, place, seeds, seeding = header.run
        plain = [master, derivation, list(coordinates), list(place), list(seeds), seeding]
        text = json.dumps([self.number, plain, header.master_seed, list(header.address.items())]).encode()
        if len(text) > _BYTES:
            raise CoordinateTypeError(
                f"the address {header.address} takes {len(text)} bytes; an iterable dataset's workers are told of "
                f"{_BYTES}."
            )
        self._slots[self.number % SLOTS] = torch.frombuffer(bytearray(text.ljust(_BYTES, b" ")), dtype=torch.uint8)

    def read(self, number: int) -> Header | None:
        """Return the header of a pass; None if it is not there."""
        text = bytes(self._slots[number % SLOTS].tolist()).rstrip(b" \0")
        if not text:
            return None
        held, (master, derivation, coordinates, place, seeds, seeding), seed, address = json.loads(text)
        if held != number:
            return None
        known = (
            master,
            derivation,
            tuple(map(tuple, coordinates)),
            Place(*place),
            tuple(map(tuple, seeds)),
            seeding,
        )
        return _header(known, seed, Address(**dict(address)))

    def __deepcopy__(self, memo: Any) -> PassLog:
        return PassLog()

    def __reduce__(self) -> tuple[Any, ...]:
        if multiprocessing.context.get_spawning_popen() is None:
            return PassLog, ()
        return _shared_log, (self.number, self._slots)


def _shared_log(number: int, slots: torch.Tensor) -> PassLog:
    log = PassLog.__new__(PassLog)
    log.number, log._slots = number, slots
    return log


class IterableSeeded(torch.utils.data.IterableDataset[Any]):
    """An iterable dataset, each of whose items draws on streams of its own.

    The source is either read whole by every rank and worker, each keeping its share of the items, or it is given as
    ``shards``, which are dealt out. What an item draws is a function of (master seed, task, epoch, item): equal for any
    number of workers and ranks. The order in which batches come is that of a fixed number of workers and batch size.

    Args:
        source: an iterable; with ``shards``, a callable that opens one: ``source(shard)`` gives an iterable.
        transform: applied to each item, on the item's streams.
        shards: the names or numbers of the parts. Their order in an epoch is drawn from a stream that all ranks
            and workers share (``sample.order``), the noise of the items from streams that no two share.
        shuffle: draw that order anew in each epoch.
        item_id: item to identity, an int or a str. By default an item is its number in the source, or in its shard.
            With it only the transform draws on the item's streams: the item must be there before its identity is known.
        split: False if the source itself yields only the share of this rank and worker; needs ``item_id``.
        rngs: which of ``"python"``, ``"numpy"``, ``"torch"`` to seed.
        rank: by default the run's.
        world_size: by default the run's.

    Raises:
        CoordinateTypeError: arguments that exclude each other.

    >>> import random, reproseed as rs
    >>> noisy = rs.data.IterableSeeded(range(4), transform=lambda item: item + random.random())
    >>> with rs.seeded(master_seed=1, task="train", epoch=0):
    ...     batches = list(rs.data.seeded_loader(noisy, batch_size=2))
    """

    def __init__(
        self,
        source: Iterable[Any] | Callable[[Any], Iterable[Any]],
        *,
        transform: Callable[[Any], Any] | None = None,
        shards: Sequence[Value] | None = None,
        shuffle: bool = True,
        item_id: Callable[[Any], Value] | None = None,
        split: bool = True,
        rngs: Iterable[str] = LIBRARIES,
        rank: int | None = None,
        world_size: int | None = None,
    ) -> None:
        if shards is not None and not callable(source):
            raise CoordinateTypeError("with shards=, the source is a callable that opens one: source(shard).")
        if not split and (item_id is None or shards is not None):
            raise CoordinateTypeError(
                "split=False needs item_id=, by which items are told apart, and takes no shards=."
            )
        if (rank is None) != (world_size is None):
            raise CoordinateTypeError("pass rank= and world_size= together, or neither.")
        self.source = source
        self.transform = transform
        self.shards = None if shards is None else [check_value("shard", shard) for shard in shards]
        self._shuffle, self._item_id, self._split = shuffle, item_id, split
        self._rngs = check_libraries(rngs)
        self._place = None if rank is None else Place(integer("rank", rank), integer("world_size", world_size, 1))
        self._log = PassLog()
        self._epoch: dict[str, Value] | None = None
        self._next: Header | None = None
        self._process: int | None = None
        self._pass = 0
        let_generators_cross()

    def set_epoch(self, epoch: Any, **coordinates: Any) -> None:
        """Say which epoch comes next, for plain loaders outside scopes."""
        self._epoch = {name: check_value(name, value) for name, value in {"epoch": epoch, **coordinates}.items()}

    def place(self) -> Place:
        """Return rank and world size: as given, else the run's."""
        if self._place is not None:
            return self._place
        return run.current_seeder().place if run.is_initialized() else find_place(None, None, None, None)

    def share(self) -> int:
        """Return how many items this rank gets, if the source has a length."""
        if self.shards is not None:
            raise TypeError("the number of items in shards is not known")
        rank, world = self.place()
        whole = len(self.source)  # type: ignore[arg-type]  # raises TypeError by itself where there is no length
        return (whole - rank + world - 1) // world if self._split else whole

    def begin(self, header: Header) -> None:
        """Number a pass; our loader calls it before it makes an iterator."""
        self._next = header
        self._log.begin(header)

    def __iter__(self) -> Iterator[Any]:
        header = self._header()
        rank, world = header.seeder.place if self._place is None else self._place
        info = torch.utils.data.get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        mine, parts = rank * workers + worker, world * workers
        if self.shards is not None:
            return self._of_shards(header, mine, parts)
        source: Any = self.source
        keyed = self._items(header, source, lambda number: number)
        if not self._split:
            return (item for _, item in keyed)
        return self._every(header, source, mine, parts)

    def _header(self) -> Header:
        if torch.utils.data.get_worker_info() is None:
            header, self._next = self._next, None
            return header or here(self._epoch)
        if self._process == os.getpid():
            self._pass += 1
        else:
            self._process, self._pass = os.getpid(), self._log.number
        header = self._log.read(self._pass)
        if header is None:
            raise ScopeError(
                f"this worker was not told of pass {self._pass} over its IterableSeeded: iterate through "
                "rs.data.seeded_loader(...), which writes each pass down before its workers begin it."
            )
        return header

    def _every(self, header: Header, source: Any, mine: int, parts: int) -> Iterator[Any]:
        for number, item in self._items(header, source, lambda number: number, lambda n: n % parts == mine):
            if number % parts == mine:
                yield item

    def _of_shards(self, header: Header, mine: int, parts: int) -> Iterator[Any]:
        assert self.shards is not None  # the caller's condition
        count = len(self.shards)
        order = permutation(count, header.stream("sample.order")).take(0, count) if self._shuffle else range(count)
        opening: Any = self.source
        for place in itertools.islice(order, mine, None, parts):
            shard = self.shards[int(place)]
            for _, item in self._items(header, functools.partial(opening, shard), f"{shard!r}:{{}}".format):
                yield item

    def _items(
        self,
        header: Header,
        source: Any,
        key: Callable[[int], Value],
        wanted: Callable[[int], bool] = lambda number: True,
    ) -> Iterator[tuple[int, Any]]:
        """Yield each item with its number.

        Also the items of others are read on their own streams: a source that shuffles does the same in every worker.
        """
        sources: list[ObjectSource] = sources_in(self.source, self.transform, names=("source", "transform"))
        iterator: Iterator[Any] | None = None
        for number in itertools.count():
            with Drawing(header, self._rngs, sources) as drawing:
                drawing.at(header, key(number))
                try:
                    if iterator is None:
                        iterator = iter(source() if self.shards is not None else source)
                    item = next(iterator)
                except StopIteration:
                    return
                if wanted(number):
                    if self._item_id is not None:
                        drawing.at(header, check_value("item_id(item)", self._item_id(item)))
                    if self.transform is not None:
                        item = self.transform(item)
            yield number, item

    def __getstate__(self) -> Mapping[str, Any]:
        return self.__dict__ | {"_process": None, "_next": None}
