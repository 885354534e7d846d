"""`ElasticBatchSampler`: one global order an epoch, of which each rank takes its slice.

A step is the global positions [consumed, consumed + global batch), and rank r of W takes the r-th of W slices. So any
number of ranks that divides the global batch sees the same global batches, and a place in the epoch is one number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, cast, get_args

import torch.utils.data

from reproseed import run
from reproseed.address import Value, check_value, integer
from reproseed.data.addressed import Flat, Pass
from reproseed.data.header import Batch, Header, Index, here
from reproseed.data.order import LABEL, Order, Sequential, drawn, given_order, permutation
from reproseed.data.position import Layout, Plan, Seek, check_fits
from reproseed.errors import CoordinateTypeError, CoordinateValueError, RankError
from reproseed.ranks import Place, find_place

Tail = Literal["drop", "pad", "uneven", "carry"]


class ElasticBatchSampler(torch.utils.data.BatchSampler):
    """Batches of indices, the same global batches for every number of ranks.

    Reads the run and the address when its first batch is asked for, in the main process; iterating it changes nothing,
    as a DataLoader may do it twice. Above 2**20 samples the order is computed where it is needed, in O(1) memory.

    Args:
        data: the dataset, or its number of samples.
        global_batch_size: samples of one step on all ranks together.
        batch_size: samples of one step on one rank, instead.
        rank: this process's; by default the run's.
        world_size: number of processes that share the samples; by default the run's.
        shuffle: False keeps the order of the indices.
        tail: what becomes of the samples that fill no global batch. ``"drop"``; ``"pad"``: the epoch's first ones
            again; ``"uneven"``: a short last batch, of which a rank may get nothing; ``"carry"``: the batch goes on
            with the next epoch's samples, and that epoch begins after them.
        order: an array of indices, a callable ``f(rng, n)`` that returns one, such as
            ``lambda rng, n: rng.choice(n, n, p=weights)``, or a sampler of torch; replaces ``shuffle``.
        num_samples: length of the order, if not the number of samples.

    Raises:
        CoordinateValueError: a size out of range, or a global batch that the ranks cannot share out evenly.

    >>> import reproseed as rs
    >>> with rs.seeded(master_seed=1, task="train", epoch=0):
    ...     whole = list(rs.data.ElasticBatchSampler(8, global_batch_size=4))
    ...     halves = [list(rs.data.ElasticBatchSampler(8, global_batch_size=4, rank=r, world_size=2)) for r in (0, 1)]
    >>> whole == [a + b for a, b in zip(*halves)]
    True
    """

    def __init__(
        self,
        data: Any,
        global_batch_size: int | None = None,
        *,
        batch_size: int | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        shuffle: bool = True,
        tail: Tail = "drop",
        order: Any = None,
        num_samples: int | None = None,
    ) -> None:
        if (global_batch_size is None) == (batch_size is None):
            raise CoordinateTypeError("ElasticBatchSampler() takes global_batch_size= or batch_size=, exactly one.")
        if tail not in get_args(Tail):
            raise CoordinateValueError(f"tail={tail!r}: allowed are 'drop', 'pad', 'uneven' and 'carry'.")
        if (rank is None) != (world_size is None):
            raise CoordinateTypeError("pass rank= and world_size= together, or neither.")
        self.n = integer("number of samples", len(data) if hasattr(data, "__len__") else data)
        self._whole = None if global_batch_size is None else integer("global_batch_size", global_batch_size, 1)
        self._each = None if batch_size is None else integer("batch_size", batch_size, 1)
        self._place = None if rank is None else _checked_place(rank, world_size)
        self.shuffle = bool(shuffle)
        self.tail = tail
        self.order = order
        self.num_samples = self.n if num_samples is None else integer("num_samples", num_samples)
        if num_samples is None and order is not None and hasattr(order, "__len__"):
            self.num_samples = len(order)
        self.sampler = Flat(self)
        self._epoch: dict[str, Value] | None = None
        self._seek: Seek | None = None
        self._bound: Plan | None = None
        self._orders: dict[Header, Order] = {}
        self._last: Plan | None = None
        if self._place is not None:
            self.local()

    # --- sizes ----------------------------------------------------------------------------------------------------

    @property
    def place(self) -> Place:
        """Rank and world size: as given, else the run's, else the launcher's."""
        if self._place is not None:
            return self._place
        if not run.is_initialized():
            return find_place(None, None, None, None)
        seeder = run.current_seeder()
        if seeder.place.world_size > 1 and "rank" not in seeder.coordinates:
            raise RankError(
                f"the run's streams are told apart by {', '.join(seeder.coordinates) or 'nothing'}, not by the rank, "
                "so it is unknown which ranks share the samples out: pass rank= and world_size= of the data-parallel "
                "group."
            )
        return seeder.place

    @property
    def global_batch_size(self) -> int:
        """Samples of one step on all ranks."""
        return self._whole or cast("int", self._each) * self.place.world_size

    @property
    def batch_size(self) -> int:  # type: ignore[override]  # torch's attribute
        """Samples of one step on this rank."""
        return self._each or self.local()

    @property
    def drop_last(self) -> bool:  # type: ignore[override]  # torch's attribute
        """Whether all batches have one size."""
        return self.tail != "uneven"

    def local(self) -> int:
        """Return this rank's share of a global batch, or raise if there is no even one."""
        whole, world = self.global_batch_size, self.place.world_size
        if whole % world:
            near = whole // world * world or world
            raise CoordinateValueError(
                f"global_batch_size={whole} cannot be shared out evenly over {world} ranks: choose a multiple of "
                f"{world}, such as {near}."
            )
        return whole // world

    def __len__(self) -> int:
        """Return the number of steps of a whole epoch."""
        return self._steps(self._epoch_number(), 0, 0)

    def _steps(self, epoch: int, base_step: int, base_consumed: int) -> int:
        size, count = self.global_batch_size, self.num_samples
        if self.tail == "carry":
            return -(-(epoch + 1) * count // size) + (epoch * -count // size)
        left = count - base_consumed
        return base_step + (left // size if self.tail == "drop" else -(-left // size))

    def _epoch_number(self) -> int:
        epoch = (self._epoch or {}).get("epoch", 0) if self._last is None else self._last.header.address.get("epoch", 0)
        return epoch if isinstance(epoch, int) else 0

    # --- a pass ---------------------------------------------------------------------------------------------------

    def set_epoch(self, epoch: Any, **coordinates: Any) -> None:
        """Say which epoch comes next, for trainers that open no scope; a scope's own epoch wins.

        Args:
            epoch: an int, as torch's samplers take it.
            **coordinates: such as ``task="train"``.
        """
        given = {"epoch": epoch, **coordinates}
        self._epoch = {name: check_value(name, value) for name, value in given.items()}

    def seek(self, step: int, saved: Mapping[str, Any] | None = None) -> None:
        """Begin the next pass at a step, without reading what lies before it.

        Args:
            step: steps done.
            saved: the `layout` at the time of saving; a step of another global batch is then converted.

        Raises:
            StateMismatchError: the data, the order or the tail differ.
        """
        layout = Layout.read(saved) if saved else None
        if layout is not None:
            check_fits(self, layout)
        step = integer("step", step)
        self._seek = Seek(step, layout if step else None, None)

    def plan(self, seek: Seek | None = None) -> Plan:
        """Return what a pass that begins now is.

        Args:
            seek: where it begins, if not where `seek` or `load_state_dict` said.
        """
        header = here(self._epoch)
        self.local()
        seek = self._seek if seek is None else seek
        step = 0
        base = (0, 0)
        if seek is not None:
            step, base = seek.resolve(header.address, self.global_batch_size)
        return Plan(header, step, base[1] + (step - base[0]) * self.global_batch_size, *base)

    def begin(self, plan: Plan) -> None:
        """Take notice that a pass has begun: it uses up the sought step."""
        self._seek, self._last = None, plan

    def bind(self, plan: Plan | None) -> None:
        """Let iterators that are made from now on serve one pass, whose beginning the loader has read."""
        self._bound = plan

    def total(self, plan: Plan) -> int:
        """Return the step at which a pass ends."""
        return self._steps(_number(plan.header), plan.base_step, plan.base_consumed)

    def __iter__(self) -> Iterator[list[int]]:
        return cast("Iterator[list[int]]", Pass(self, self._bound))

    def batches(self, plan: Plan) -> Iterator[Batch]:
        """Return this rank's batches of a pass."""
        rank, world = self.place
        size, count = self.global_batch_size, self.num_samples
        origin = 0
        if self.tail == "carry":
            origin = -(-_number(plan.header) * count // size) * size
        for step in range(plan.step, self.total(plan)):
            low = origin + plan.base_consumed + (step - plan.base_step) * size
            high = min(low + size, count) if self.tail == "uneven" else low + size
            start, stop = low + (high - low) * rank // world, low + (high - low) * (rank + 1) // world
            if start == stop:
                return
            yield self._batch(plan.header, start, stop)

    def _batch(self, header: Header, start: int, stop: int) -> Batch:
        """Return the indices at positions ``start`` to ``stop``, which may lie beyond the epoch's end."""
        batch, count = Batch(), self.num_samples
        while start < stop:
            lap, first = divmod(start, count)
            last = min(first + stop - start, count)
            if self.tail == "carry":
                owner, shift = (header if lap == _number(header) else header.at(epoch=lap)), 0
            else:
                owner, shift = header, lap * count
            for place, index in enumerate(self._order(owner).take(first, last).tolist(), first + shift):
                batch.append(Index(index, owner, place))
            start += last - first
        return batch

    def _order(self, header: Header) -> Order:
        if header not in self._orders:
            while len(self._orders) > 1:
                del self._orders[next(iter(self._orders))]
            self._orders[header] = self._make_order(header)
        return self._orders[header]

    def _make_order(self, header: Header) -> Order:
        if isinstance(self.order, torch.utils.data.Sampler):
            return given_order(drawn(self.order, header), header, self.n, self.num_samples)
        if self.order is not None:
            return given_order(self.order, header, self.n, self.num_samples)
        return permutation(self.n, header.stream(LABEL)) if self.shuffle else Sequential()

    # --- its state ------------------------------------------------------------------------------------------------

    def layout(self) -> dict[str, Any]:
        """Return what the count of steps means: sizes, order and tail, in plain types."""
        return Layout.of(self, self._last).plain()

    def state_dict(self, step: int | None = None) -> dict[str, Any]:
        """Return the position after a number of steps of the last pass; plain types, equal on all ranks.

        Args:
            step: steps done, as the *loader* counts them: a sampler is read ahead. None: where the next pass begins.
        """
        return Layout.of(self, self._last).state(step, self._last, self._seek)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Begin the next pass where a state stands; one at its epoch's end stands before the next epoch.

        Raises:
            StateError: damaged.
            StateMismatchError: of other data, another order or another tail.
        """
        self._seek, epoch = Seek.load(self, state)
        if epoch is not None:
            self._epoch = epoch


def _number(header: Header) -> int:
    epoch = header.address.get("epoch", 0)
    if not isinstance(epoch, int):
        return 0
    return epoch


def _checked_place(rank: Any, world_size: Any) -> Place:
    world = integer("world_size", world_size, 1)
    return Place(integer("rank", rank, 0, world), world)
