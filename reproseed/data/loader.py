"""`seeded_loader`: torch's DataLoader around samples and an order that belong to the run."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch.utils.data

from reproseed import stack
from reproseed.address import Address
from reproseed.data.arguments import PASSED_ON, of_samples, of_stream, refuse
from reproseed.data.header import Header, scope
from reproseed.data.passes import Passes
from reproseed.data.samples import SeededCollate
from reproseed.data.workers import WorkerInit
from reproseed.errors import RepeatedAddressWarning, ScopeError, warn
from reproseed.stack import Entry


class SeededLoader:
    """What `seeded_loader` returns: iterates like a DataLoader, which stands inside as ``dataloader``.

    Nothing is read or started before a pass's first batch is asked for, since trainers make the iterator before they
    set the epoch. All attributes of the DataLoader can be read here too.
    """

    def __init__(self, dataloader: torch.utils.data.DataLoader[Any], passes: Passes, init: WorkerInit) -> None:
        self.dataloader = dataloader
        # Bound to the order, so that a run that keeps it keeps no workers alive.
        self.layout: Callable[[], dict[str, Any]] = passes.layout
        """Returns what a count of steps means, for a checkpoint that holds the count."""
        self._passes = passes
        self._init = init
        self._pass = _Pass()
        self._last: tuple[weakref.ref[Entry], Address] | None = None

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

    def state_dict(self, in_flight: int = 0) -> dict[str, Any]:
        """Return the position: under `reproseed.steps` the run's, else the batches that were handed out.

        Args:
            in_flight: batches that were handed out and not yet trained on, by something that reads ahead.

        Returns:
            a dict of ints and strings, equal on all ranks; it does not depend on workers or prefetching.
        """
        done = self._done()
        return self._passes.state_dict(None if done is None else max(done - in_flight, 0))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Begin the next pass where a state stands; one at an epoch's end stands before the next epoch.

        Raises:
            StateError: damaged.
            StateMismatchError: of other data or another order.
            ScopeError: a pass is under way, whose batches would still come from before.
        """
        if self._pass.running:
            raise ScopeError(
                "load_state_dict() while a pass is under way would go on with batches from before: load first, or "
                "leave the loop and drop its iterator."
            )
        self._pass = _Pass()
        self._passes.load_state_dict(state)

    def _note_pass(self, header: Header) -> None:
        """Warn of a second pass in one scope without an epoch: it repeats the first."""
        entry = scope()
        if entry is None or "epoch" in header.address:
            return
        if self._last is not None and self._last[0]() is entry and self._last[1] == header.address:
            warn(
                f"this loader is iterated again inside {header.address}, which names no epoch: order and draws are "
                "those of the pass before. Write rs.seeded(task=..., epoch=...) around each pass, or call "
                "loader.set_epoch(e).",
                RepeatedAddressWarning,
            )
        self._last = weakref.ref(entry), header.address

    def _done(self) -> int | None:
        """Return the steps done: those of the loop over `steps` that drives this loader, if one does."""
        for entry in reversed(stack.entries()):
            for live in () if entry.position is None else entry.position.loops.live:
                if getattr(live.owner(), "_iterable", None) is self:
                    return int(live.done + live.running)
        return self._pass.handed

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "dataloader" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.dataloader, name)

    def __repr__(self) -> str:
        return f"<SeededLoader over {self.dataloader.dataset!r}>"


class _Pass:
    """How far a pass has come; apart from its iterator, so that this and the loader form no cycle.

    torch's workers end at once where their iterator is freed; the collector leaves them waiting for each other.
    """

    def __init__(self) -> None:
        self.handed: int | None = None
        self.running = False


class _Iterator(Iterator[Any]):
    """One pass. It reads its place at the first batch."""

    def __init__(self, loader: SeededLoader) -> None:
        self._loader = loader
        self._inner: Iterator[Any] | None = None
        self._pass = _Pass()
        self._ended = False

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        if self._ended:
            raise StopIteration
        loader = self._loader
        try:
            if self._inner is None:
                self._inner = self._begin(loader)
            elif loader._pass is not self._pass and loader.dataloader.persistent_workers:
                raise ScopeError(
                    "a newer pass over this loader has begun, and persistent workers serve one at a time: make a "
                    "second loader, or pass persistent_workers=False."
                )
        except BaseException:
            self._end()
            raise
        try:
            return next(self._inner)
        except StopIteration:
            self._end()
            raise
        finally:
            # Also where a sample raised: torch goes on with the batch after it.
            if not self._ended:
                self._pass.handed = (self._pass.handed or 0) + 1

    def _begin(self, loader: SeededLoader) -> Iterator[Any]:
        start, header = loader._passes.begin()
        loader._note_pass(header)
        loader._init.header = header
        _seed_own(loader.dataloader.generator, header)
        with loader._passes.bound():
            inner: Iterator[Any] = iter(loader.dataloader)
        self._pass.handed, self._pass.running = start, True
        loader._pass = self._pass
        for _ in range(loader._passes.to_discard(start)):
            next(inner)
        return inner

    def _end(self) -> None:
        self._ended, self._inner, self._pass.running = True, None, False

    def __del__(self) -> None:
        self._pass.running = False


def _seed_own(generator: torch.Generator, header: Header) -> None:
    """Seed the generator that torch draws the workers' base seed from, so that it depends on no history."""
    if header.seeder.seeding:
        header.at(**header.seeder.coordinates).stream("worker.loader").seed_torch(generator)
    else:
        generator.seed()  # reproseed: ignore[RS106]


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

    The arguments are those of ``torch.utils.data.DataLoader``, in its order, and below them ours; the table in
    `reproseed.data.arguments` says what becomes of each. Iterate inside a scope with an epoch, or call ``set_epoch``.
    Works in `reproseed.steps`, which resumes it by arithmetic, with any number of workers and ranks. The training's
    generators are never moved.

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
        global_batch_size: samples of a step on all ranks together, instead of ``batch_size``; resuming on another
            number of ranks needs it.
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
    refuse(given)
    init = WorkerInit(worker_init_fn)
    options = {name: given[name] for name in PASSED_ON}
    options |= {"worker_init_fn": init, "generator": torch.Generator()}
    if collate_fn is not None:
        options["collate_fn"] = collate_fn if isinstance(collate_fn, SeededCollate) else SeededCollate(collate_fn)
    chosen = of_stream if isinstance(dataset, torch.utils.data.IterableDataset) else of_samples
    passes, keywords = chosen(given)
    loader: torch.utils.data.DataLoader[Any] = torch.utils.data.DataLoader(**keywords, **options)
    return SeededLoader(loader, passes, init)
