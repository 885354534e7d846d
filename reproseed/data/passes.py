"""How a loader begins a pass over map-style samples, over batches of the user's own sampler, and over a stream."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from reproseed.address import Address, Value, check_value, integer
from reproseed.data.addressed import Addressed
from reproseed.data.header import Header, here
from reproseed.data.iterable import IterableSeeded
from reproseed.data.position import Plan
from reproseed.data.sampler import ElasticBatchSampler
from reproseed.errors import CoordinateValueError, ResumeWarning, StateError, StateMismatchError, warn


class Passes(Protocol):
    """What the loader asks of each."""

    def begin(self) -> tuple[int, Header]:
        """Read the running code's place; return the step at which a pass begins, and its header."""

    def bound(self) -> contextlib.AbstractContextManager[None]:
        """Return a context in which the DataLoader's iterator is made for the pass that has begun."""

    def to_discard(self, start: int) -> int:
        """Return how many batches have to be fetched and thrown away."""

    def set_epoch(self, epoch: Any, **coordinates: Any) -> None:
        """Set the epoch of passes outside scopes."""

    def seek(self, step: int, saved: Mapping[str, Any] | None) -> None:
        """Begin the next pass at a step."""

    def layout(self) -> dict[str, Any]:
        """Return what a count of steps means."""

    def state_dict(self, step: int | None) -> dict[str, Any]:
        """Return the position after a number of steps."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Begin the next pass where a state stands."""

    def __len__(self) -> int: ...


class MapPasses:
    """Passes over an `ElasticBatchSampler`.

    Args:
        order: the sampler.
        all_ranks: raise if the last step has nothing for some rank.
    """

    def __init__(self, order: ElasticBatchSampler, all_ranks: bool = False) -> None:
        self._order = order
        self._all_ranks = all_ranks
        self._plan: Plan | None = None
        self.set_epoch, self.layout = order.set_epoch, order.layout
        self.load_state_dict = order.load_state_dict

    def begin(self) -> tuple[int, Header]:
        """Read the plan, and use up what was sought."""
        order, world = self._order, self._order.place.world_size
        left = order.num_samples % order.global_batch_size
        if self._all_ranks and order.tail == "uneven" and 0 < left < world:
            raise CoordinateValueError(
                f"the last step has {left} samples for {world} ranks, and one without any would miss it: "
                "pass drop_last=True, or tail='pad' to fill it up."
            )
        self._plan = order.plan()
        order.begin(self._plan)
        return self._plan.step, self._plan.header

    @contextlib.contextmanager
    def bound(self) -> Iterator[None]:
        """Bind the sampler's new iterators to the plan."""
        self._order.bind(self._plan)
        try:
            yield
        finally:
            self._order.bind(None)

    def to_discard(self, start: int) -> int:
        """Return 0: the order begins anywhere."""
        return 0

    def seek(self, step: int, saved: Mapping[str, Any] | None) -> None:
        """Begin the next pass at a step."""
        self._order.seek(step, saved)

    def state_dict(self, step: int | None) -> dict[str, Any]:
        """Return the sampler's state."""
        return self._order.state_dict(step)

    def __len__(self) -> int:
        return len(self._order)


class _Counted:
    """Passes whose position is a count of batches that only this very order gives a meaning."""

    def __init__(self) -> None:
        self._epoch: dict[str, Value] | None = None
        self._step = 0
        self._at: Address | None = None
        self._header: Header | None = None

    def begin(self) -> tuple[int, Header]:
        """Read the place; a loaded step counts at its own address only."""
        header, start = here(self._epoch), self._step
        if start and self._at is not None and self._at != header.address:
            warn(
                f"the loaded position of the data is step {start} of {self._at}, but {header.address} was entered: it "
                "begins at its first step.",
                ResumeWarning,
            )
            start = 0
        self._step, self._at, self._header = 0, None, header
        return start, header

    def set_epoch(self, epoch: Any, **coordinates: Any) -> None:
        """Set the epoch of passes outside scopes."""
        self._epoch = {name: check_value(name, value) for name, value in {"epoch": epoch, **coordinates}.items()}

    def seek(self, step: int, saved: Mapping[str, Any] | None) -> None:
        """Begin the next pass at a step."""
        if saved is not None:
            self._check(saved)
        self._step, self._at = integer("step", step), None

    def layout(self) -> dict[str, Any]:
        """Return what a count of steps means."""
        raise NotImplementedError

    def state_dict(self, step: int | None) -> dict[str, Any]:
        """Return the layout, the address and the step."""
        where: Any = (self._at or {}) if self._header is None or self._at is not None else self._header.address
        return self.layout() | {"address": dict(where), "step": self._step if step is None else step}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Begin the next pass where a state stands."""
        self._check(state)
        if type(state.get("step")) is not int or not isinstance(state.get("address"), Mapping):
            raise StateError(
                f"the data's position has step={state.get('step')!r} and address={state.get('address')!r}."
            )
        self._step, self._at = state["step"], Address(**state["address"])
        if "epoch" in self._at:
            self._epoch = dict(self._at)

    def _check(self, saved: Mapping[str, Any]) -> None:
        for name, value in self.layout().items():
            if saved.get(name) != value:
                raise StateMismatchError(
                    f"the position was saved with {name}={saved.get(name)!r}, this loader has {name}={value!r}: its "
                    "batches depend on that. Resume with the same, or begin the epoch anew."
                )


class SamplerPasses(_Counted):
    """Passes over a batch sampler of the user's own, whose batches are listed at the pass's address."""

    def __init__(self, sampler: Addressed) -> None:
        super().__init__()
        self._sampler = sampler
        self._start = 0

    def begin(self) -> tuple[int, Header]:
        """Read the place."""
        self._start, header = super().begin()
        return self._start, header

    @contextlib.contextmanager
    def bound(self) -> Iterator[None]:
        """Bind the sampler's new iterator to the rest of the list."""
        assert self._header is not None  # set by begin
        self._sampler.bind(self._sampler.drawn(self._header, self._start))
        try:
            yield
        finally:
            self._sampler.bind(None)

    def to_discard(self, start: int) -> int:
        """Return 0: the list begins anywhere."""
        return 0

    def layout(self) -> dict[str, Any]:
        """Return the kind of the sampler."""
        return {"format": 1, "batches": type(self._sampler.sampler).__name__}

    def __len__(self) -> int:
        return len(self._sampler)


class StreamPasses(_Counted):
    """Passes over an iterable dataset; a step in them is reached by fetching what lies before it."""

    def __init__(self, dataset: IterableSeeded, workers: int, batch_size: int, drop_last: bool) -> None:
        super().__init__()
        self._dataset = dataset
        self._sizes = {"workers": workers, "batch_size": batch_size, "drop_last": int(drop_last)}

    @contextlib.contextmanager
    def bound(self) -> Iterator[None]:
        """Number the pass in the log that the workers read."""
        assert self._header is not None  # set by begin
        self._dataset.begin(self._header)
        yield

    def to_discard(self, start: int) -> int:
        """Return all that lies before."""
        return start

    def layout(self) -> dict[str, Any]:
        """Return what the order of a stream's batches depends on."""
        return {"format": 1, **self._sizes, "world_size": self._dataset.place().world_size}

    def __len__(self) -> int:
        count, size = self._dataset.share(), self._sizes["batch_size"]
        return count // size if self._sizes["drop_last"] else -(-count // size)
