"""`seeded_loader`: torch's DataLoader around samples and an order that belong to the run.

What becomes of the arguments of ``torch.utils.data.DataLoader``:

    argument                                             what happens
    ---------------------------------------------------  ---------------------------------------------------------
    dataset                                              wrapped in SampleSeeded or IterableSeeded, unless it is one
    batch_size                                           per rank; global_batch_size= is the alternative
    shuffle, drop_last                                   give the ElasticBatchSampler's order and tail
    sampler                                              its order, drawn at the epoch's address, is shared out
    batch_sampler                                        an ElasticBatchSampler; another one gets its epoch by address()
    collate_fn                                           chained: its draws belong to the batch
    worker_init_fn                                       chained: runs after ours
    generator                                            refused: the loader has one of its own, seeded in each pass
    DistributedSampler                                   refused: the samples are shared out already
    num_workers, pin_memory, timeout, prefetch_factor,   passed on
    multiprocessing_context, persistent_workers,
    pin_memory_device, in_order
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch.utils.data
from torch.utils.data.distributed import DistributedSampler

from reproseed import stack
from reproseed.address import integer
from reproseed.data.header import Header
from reproseed.data.iterable import IterableSeeded
from reproseed.data.passes import MapPasses, Passes, SamplerPasses, StreamPasses
from reproseed.data.sampler import Addressed, ElasticBatchSampler
from reproseed.data.samples import SampleSeeded, SeededCollate
from reproseed.data.workers import WorkerInit
from reproseed.errors import CoordinateTypeError, CoordinateValueError, ScopeError

_PASSED_ON = (
    "num_workers", "pin_memory", "timeout", "multiprocessing_context", "prefetch_factor", "persistent_workers",
    "pin_memory_device", "in_order",
)  # fmt: skip


class SeededLoader:
    """What `seeded_loader` returns: iterates like a DataLoader, which stands inside as ``dataloader``.

    Nothing is read or started before a pass's first batch is asked for, since trainers make the iterator before they set
    the epoch. All attributes of the DataLoader can be read here too.
    """

    def __init__(self, dataloader: torch.utils.data.DataLoader[Any], passes: Passes, init: WorkerInit) -> None:
        self.dataloader = dataloader
        self._passes = passes
        self._init = init
        self._live: _Iterator | None = None

    def __iter__(self) -> Iterator[Any]:
        return _Iterator(self)

    def __len__(self) -> int:
        """Return the number of steps of a whole epoch, also where the next pass begins later."""
        return len(self._passes)

    def set_epoch(self, epoch: Any, **coordinates: Any) -> None:
        """Say which epoch comes next, where no scope does; a scope's own epoch wins.

        Args:
            epoch: an int.
            **coordinates: such as ``task="train"``, so that two loaders do not share their streams.
        """
        self._passes.set_epoch(epoch, **coordinates)

    def start_at(self, step: int, saved: Mapping[str, Any] | None = None) -> None:
        """Begin the next pass at a step; `reproseed.steps` and trainers call it.

        Args:
            step: steps done. At the epoch's end the pass is empty.
            saved: what `layout` returned when that step was saved.

        Raises:
            StateMismatchError: the step means something else here.
        """
        self._passes.seek(step, saved)

    def layout(self) -> dict[str, Any]:
        """Return what a count of steps means, for a checkpoint that holds the count."""
        return self._passes.layout()

    def state_dict(self, in_flight: int = 0) -> dict[str, Any]:
        """Return the position: under `reproseed.steps` the run's, else the batches that were handed out.

        Args:
            in_flight: batches that were handed out and not yet trained on, by something that reads ahead.

        Returns:
            a dict of ints and strings, equal on all ranks; it does not depend on workers or prefetching.
        """
        live = self._live
        return self._passes.state_dict(None if live is None else max(live.done(self) - in_flight, 0))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Begin the next pass where a state stands; one at an epoch's end stands before the next epoch.

        Raises:
            StateError: damaged.
            StateMismatchError: of other data or another order.
            ScopeError: a pass is under way, whose batches would still come from before.
        """
        if self._live is not None and not self._live.ended:
            raise ScopeError(
                "load_state_dict() while a pass is under way would go on with batches from before: load first, or leave "
                "the loop and drop its iterator."
            )
        self._live = None
        self._passes.load_state_dict(state)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "dataloader" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.dataloader, name)

    def __repr__(self) -> str:
        return f"<SeededLoader over {self.dataloader.dataset!r}>"


class _Iterator(Iterator[Any]):
    """One pass. It reads its place at the first batch."""

    def __init__(self, loader: SeededLoader) -> None:
        self._loader = loader
        self._inner: Iterator[Any] | None = None
        self._handed = 0
        self.ended = False

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        if self.ended:
            raise StopIteration
        loader = self._loader
        if self._inner is None:
            self._begin(loader)
        elif loader._live is not self and loader.dataloader.persistent_workers and loader.dataloader.num_workers:
            raise ScopeError(
                "a newer pass over this loader has begun, and persistent workers serve one at a time: make a second "
                "loader, or pass persistent_workers=False."
            )
        assert self._inner is not None  # made by _begin
        try:
            batch = next(self._inner)
        except BaseException:
            self.ended, self._inner = True, iter(())
            raise
        self._handed += 1
        return batch

    def _begin(self, loader: SeededLoader) -> None:
        start, header = loader._passes.begin()
        self._handed = start
        loader._init.header = header
        _seed_own(loader.dataloader.generator, header)
        with loader._passes.bound():
            self._inner = iter(loader.dataloader)
        loader._live = self
        for _ in range(loader._passes.to_discard(start)):
            next(self._inner)

    def done(self, loader: SeededLoader) -> int:
        """Return the steps done: those of the loop over `steps` that drives this loader, if one does."""
        for entry in reversed(stack.entries()):
            for live in () if entry.position is None else entry.position.loops.live:
                if getattr(live.owner(), "_iterable", None) is loader:
                    return int(live.done + live.running)
        return self._handed


def _seed_own(generator: torch.Generator, header: Header) -> None:
    """Seed the generator that torch draws the workers' base seed from, so that it depends on no history."""
    if header.seeder.seeding:
        header.at(**header.seeder.coordinates).stream("worker.loader").seed_torch(generator)
    else:
        generator.seed()


def seeded_loader(
    dataset: Any,
    batch_size: int | None = 1,
    shuffle: bool = False,
    sampler: Any = None,
    batch_sampler: Any = None,
    num_workers: int = 0,
    collate_fn: Callable[[list[Any]], Any] | None = None,
    pin_memory: bool = False,
    drop_last: bool = False,
    timeout: float = 0,
    worker_init_fn: Callable[[int], None] | None = None,
    multiprocessing_context: Any = None,
    generator: Any = None,
    *,
    prefetch_factor: int | None = None,
    persistent_workers: bool = False,
    pin_memory_device: str = "",
    in_order: bool = True,
    global_batch_size: int | None = None,
    tail: Any = None,
    order: Any = None,
    num_samples: int | None = None,
    rank: int | None = None,
    world_size: int | None = None,
    transform: Callable[[Any], Any] | None = None,
) -> SeededLoader:
    """Return a loader whose order and draws are a function of the place in the run alone.

    The arguments are those of ``torch.utils.data.DataLoader``, in its order, and below them ours; the module's table
    says what becomes of each. Iterate inside a scope with an epoch, or call ``set_epoch``. Works in `reproseed.steps`,
    which resumes it by arithmetic, with any number of workers and ranks. The training's generators are never moved.

    Args:
        dataset: map-style or iterable.
        batch_size: per rank; None hands out single samples.
        shuffle: one global order an epoch.
        sampler: a torch sampler; it draws at the epoch's address, and its order is shared out over the ranks.
        batch_sampler: an `ElasticBatchSampler`, or a batch sampler that shares out by itself.
        num_workers: as in torch; it changes no draw.
        collate_fn: its own draws belong to the batch.
        pin_memory: as in torch.
        drop_last: drop the samples that fill no global batch. False makes the last step a short one, shared out over
            the ranks; if a rank would get nothing, that raises, because the others would wait for it.
        timeout: as in torch, in seconds.
        worker_init_fn: runs in each worker, on the worker's own streams.
        multiprocessing_context: as in torch; it changes no draw.
        generator: refused.
        prefetch_factor: as in torch.
        persistent_workers: as in torch; it changes no draw.
        pin_memory_device: as in torch.
        in_order: False hands batches out as they come; what each sample draws does not change.
        global_batch_size: samples of a step on all ranks together, instead of ``batch_size``; resuming on another number
            of ranks needs it.
        tail: ``"drop"``, ``"pad"``, ``"uneven"`` or ``"carry"``; see `ElasticBatchSampler`.
        order: see `ElasticBatchSampler`.
        num_samples: see `ElasticBatchSampler`.
        rank: by default the run's.
        world_size: by default the run's.
        transform: see `SampleSeeded`.

    Raises:
        CoordinateTypeError: arguments that exclude each other, or that are refused.

    >>> import random, reproseed as rs
    >>> class Noise:
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, index):
    ...         return random.random()
    >>> loader = rs.data.seeded_loader(Noise(), batch_size=2, shuffle=True)
    >>> with rs.seeded(master_seed=1, task="train", epoch=0):
    ...     batches = list(loader)
    """
    given = locals()
    _refuse(given)
    if tail is not None and drop_last:
        raise CoordinateTypeError(f"drop_last=True is tail='drop'; pass drop_last or tail={tail!r}, not both.")
    init = WorkerInit(worker_init_fn)
    options = {name: given[name] for name in _PASSED_ON}
    options |= {"worker_init_fn": init, "generator": torch.Generator()}
    if collate_fn is not None:
        options["collate_fn"] = collate_fn if isinstance(collate_fn, SeededCollate) else SeededCollate(collate_fn)
    if isinstance(dataset, torch.utils.data.IterableDataset):
        passes, keywords = _stream(given)
    else:
        passes, keywords = _map(given)
    loader: torch.utils.data.DataLoader[Any] = torch.utils.data.DataLoader(**keywords, **options)
    return SeededLoader(loader, passes, init)


def _refuse(given: Mapping[str, Any]) -> None:
    if given["generator"] is not None:
        raise CoordinateTypeError(
            "seeded_loader() takes no generator=: it has one of its own, which the scope seeds; order and draws follow "
            "from master_seed, task and epoch."
        )
    for name in ("sampler", "batch_sampler"):
        if isinstance(getattr(given[name], "sampler", given[name]), DistributedSampler):
            inner = getattr(given[name], "sampler", given[name])
            raise CoordinateTypeError(
                f"seeded_loader already shares the samples out over {inner.num_replicas} ranks; remove {name}=."
            )
    if given["batch_size"] != 1 and given["global_batch_size"] is not None:
        raise CoordinateTypeError("seeded_loader() takes batch_size= (per rank) or global_batch_size=, not both.")
    excluded = [
        n for n in ("shuffle", "order", "sampler", "batch_sampler") if given[n] is not None and given[n] is not False
    ]
    if len(excluded) > 1:
        raise CoordinateTypeError(
            f"seeded_loader() takes one of {', '.join(f'{n}=' for n in excluded)}: each is an order."
        )


def _map(given: Mapping[str, Any]) -> tuple[Passes, dict[str, Any]]:
    dataset, transform = given["dataset"], given["transform"]
    if not isinstance(dataset, SampleSeeded):
        dataset = SampleSeeded(dataset, transform)
    elif transform is not None:
        raise CoordinateTypeError("transform= belongs to SampleSeeded(dataset, transform=...), which this dataset is.")
    if given["batch_sampler"] is not None:
        return _given_batches(dataset, given)
    whole, size = given["global_batch_size"], given["batch_size"]
    order = ElasticBatchSampler(
        len(dataset),
        whole,
        batch_size=None if whole is not None else 1 if size is None else size,
        rank=given["rank"],
        world_size=given["world_size"],
        shuffle=given["shuffle"],
        tail=given["tail"] or ("drop" if given["drop_last"] else "uneven"),
        order=given["sampler"] if given["order"] is None else given["order"],
        num_samples=given["num_samples"],
    )
    passes = MapPasses(order, all_ranks=given["tail"] is None)
    if size is None:
        return passes, {"dataset": dataset, "sampler": order.sampler, "batch_size": None}
    return passes, {"dataset": dataset, "batch_sampler": order}


def _given_batches(dataset: SampleSeeded, given: Mapping[str, Any]) -> tuple[Passes, dict[str, Any]]:
    taken = {"batch_size": 1, "global_batch_size": None, "tail": None, "num_samples": None, "rank": None}
    odd = [
        name for name, default in (taken | {"world_size": None, "drop_last": False}).items() if given[name] != default
    ]
    if odd:
        raise CoordinateTypeError(f"{', '.join(f'{n}=' for n in odd)} belongs to the batch_sampler that was given.")
    order = given["batch_sampler"]
    if isinstance(order, ElasticBatchSampler):
        return MapPasses(order), {"dataset": dataset, "batch_sampler": order}
    order = order if isinstance(order, Addressed) else Addressed(order)
    return SamplerPasses(order), {"dataset": dataset, "batch_sampler": order}


def _stream(given: Mapping[str, Any]) -> tuple[Passes, dict[str, Any]]:
    dataset, transform = given["dataset"], given["transform"]
    names = ("shuffle", "sampler", "batch_sampler", "order", "num_samples", "tail", "global_batch_size")
    odd = [name for name in names if given[name] not in (None, False)]
    if odd:
        raise CoordinateValueError(
            f"seeded_loader() takes no {', '.join(f'{n}=' for n in odd)} for an iterable dataset, whose order is its own."
        )
    if not isinstance(dataset, IterableSeeded):
        dataset = IterableSeeded(dataset, transform=transform, rank=given["rank"], world_size=given["world_size"])
    elif transform is not None:
        raise CoordinateTypeError(
            "transform= belongs to IterableSeeded(dataset, transform=...), which this dataset is."
        )
    size = None if given["batch_size"] is None else integer("batch_size", given["batch_size"], 1)
    passes = StreamPasses(dataset, given["num_workers"], size or 1, given["drop_last"])
    return passes, {"dataset": dataset, "batch_size": size, "drop_last": given["drop_last"]}
