"""`Steps`: a loop whose every phase is addressed, so that a resumed run needs no history.

Making the iterator happens at (..., phase="iter"), fetching item i at (..., step=i, phase="fetch"), the body runs at
(..., step=i), and what follows the last item at (..., phase="after").
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from reproseed import stack
from reproseed.address import Value, check_names, integer
from reproseed.errors import (
    CoordinateTypeError,
    ScopeError,
    StateMismatchError,
)
from reproseed.loops import Live, Loops
from reproseed.replay import replay_progress
from reproseed.stack import Entry

if TYPE_CHECKING:
    pass

T = TypeVar("T")
_log = logging.getLogger("reproseed")
TAKEN = ("task", "master_seed", "shared", "restore")
"""Names that no loop may have."""


class Steps(Generic[T]):
    """Iterates over ``(step, item)`` inside a scope, every step on streams of its own. Made by `reproseed.steps`."""

    def __init__(self, entry: Entry | None, iterable: Iterable[T] | int, name: str = "step") -> None:
        if entry is None or not entry.seeds:
            raise ScopeError(
                "steps() needs the address of an open scope: iterate inside "
                "`with rs.seeded(task=..., epoch=...):` or a decorated function."
            )
        if (
            not isinstance(name, str)
            or name in TAKEN
            or name == "epoch"
            or not name.isidentifier()
            or not name.isascii()
        ):
            raise CoordinateTypeError(
                f"steps(name={name!r}): a coordinate's name is wanted, such as 'step' or 'micro'."
            )
        if name != "step":
            check_names([name], ("step",), "steps()")
        if _is_number(iterable):
            iterable = cast("Iterable[T]", range(integer("steps", iterable)))
        elif not hasattr(iterable, "__iter__") or isinstance(iterable, bool):
            raise CoordinateTypeError(
                f"steps() takes something to iterate over, or a number of steps; {iterable!r} is a "
                f"{type(iterable).__name__}."
            )
        _refuse_persistent(iterable)
        self._entry = entry
        self._iterable = iterable
        self._name = name

    def __len__(self) -> int:
        return len(self._iterable)  # type: ignore[arg-type]  # raises TypeError by itself where there is no length

    def __iter__(self) -> Iterator[tuple[int, T]]:
        return _Loop(self._entry, self._iterable, self._name)

    def __repr__(self) -> str:
        kind = type(self._iterable).__name__
        return f"<steps over {kind}: yields ({self._name}, item) inside {self._entry.start}>"


def _batch_size(iterable: Any) -> int | None:
    """Return the batch size of a plain loader, where it has one."""
    size = getattr(iterable, "batch_size", None)
    return size if type(size) is int else None


def _layout(iterable: Any) -> dict[str, int | None]:
    return {"batch_size": _batch_size(iterable)}


def _is_number(iterable: Any) -> bool:
    """Whether it is an int, a NumPy integer or a tensor of one, as ``range`` takes them."""
    if isinstance(iterable, bool) or not hasattr(iterable, "__index__"):
        return False
    return not hasattr(iterable, "__iter__") or tuple(getattr(iterable, "shape", (1,))) == ()


class _Loop(Iterator[tuple[int, T]]):
    """One pass. Closing it touches no state."""

    def __init__(self, entry: Entry, iterable: Iterable[T], name: str) -> None:
        self._entry, self._iterable, self._name = entry, iterable, name
        self._phase = "" if name == "step" else f":{name}"
        self._inner: Iterator[T] | None = None
        self._live: Live | None = None
        self._ended = False
        self._end: int | None = None  # items, if the checkpoint says that the loop has ended

    def __iter__(self) -> _Loop[T]:
        return self

    def __next__(self) -> tuple[int, T]:
        if self._ended:
            raise StopIteration
        self._check_innermost()
        live = self._begin() if self._live is None else self._live
        loops: Loops = self._entry.position.loops
        if live not in loops.live:
            raise ScopeError(
                f"the loop {self._name!r} ran inside a step of another loop that has gone on since; iterate over both "
                "together, steps(zip(a, b)), or one inside the other."
            )
        if live.running:
            position = self._entry.position
            position.resumed = position.resumed[: loops.live.index(live) + 1]
        loops.advance(live)
        try:
            item = self._fetch(live.done)
        except StopIteration:
            self._ended = True
            loops.end(live)
            self._at(phase="after" + self._phase)
            raise
        live.running = True
        self._at(**{self._name: live.done})
        return live.done, item

    def _begin(self) -> Live:
        """Register the loop, make the iterator, and go to where the checkpoint stopped."""
        entry, name = self._entry, self._name
        position = entry.position
        loops: Loops = position.loops
        around = loops.end_left()
        entry.address = entry.address if around is None else around
        outer = entry.address.without("phase")  # what followed an earlier loop is no part of this one's address
        if name in entry.address or loops.ran(name):
            raise ScopeError(
                f"a loop over steps named {name!r} runs or has run in {entry.address}, and another would draw the same "
                "numbers: give it a name of its own, steps(..., name='micro'), or iterate over both, steps(zip(a, b))."
            )
        entry.seeder.progress.keep(position)
        depth = len(loops.live)
        start = position.resumed[depth].get(name, 0) if depth < len(position.resumed) else 0
        self._end = ~start if start < 0 else None
        start = max(start, ~start)
        self._outer = outer
        self._live = Live(name, start, outer, self)
        loops.begin(self._live)
        try:
            self._open((position.loader_states or {}).pop(name, None), start, (position.earlier or {}).pop(name, None))
        except BaseException:
            loops.live.remove(self._live)
            self._live = None
            raise
        if hasattr(self._iterable, "start_at"):
            # One of ours counts by the loop's steps, and says what a step is.
            if hasattr(self._iterable, "layout"):
                loops.layouts[name] = self._iterable.layout
        elif hasattr(self._iterable, "state_dict"):
            loops.states[name] = self._iterable.state_dict
        elif _batch_size(self._iterable) is not None:
            loops.layouts[name] = functools.partial(_layout, self._iterable)
        return self._live

    def _open(self, state: Any, start: int, layout: Any) -> None:
        """Make the iterator stand before item ``start``: by arithmetic, by its own state, else by replay."""
        iterable: Any = self._iterable
        self._at(phase="iter" + self._phase)
        if isinstance(iterable, range):
            if start > len(iterable):
                raise self._too_short(start, len(iterable))
            self._inner = cast("Iterator[T]", iter(iterable[start:]))
        elif hasattr(iterable, "start_at"):
            iterable.start_at(start, layout if state is None else state)
            self._inner = iter(iterable)
        elif state is not None and hasattr(iterable, "load_state_dict"):
            iterable.load_state_dict(state)
            self._inner = iter(iterable)
        else:
            self._check_layout(state)
            self._inner = iter(iterable)
            self._replay(start)

    def _check_layout(self, saved: Any) -> None:
        size = _batch_size(self._iterable)
        before = saved.get("batch_size") if isinstance(saved, dict) else None
        if size is not None and before is not None and before != size:
            raise StateMismatchError(
                f"the checkpoint counts the steps of {self._outer} in batches of batch_size {before}, this loader has "
                f"{size}: resume with {before}, or start the epoch anew."
            )

    def _replay(self, start: int) -> None:
        """Fetch and discard, each item at its own address, so that all that the fetching moves stands as it stood."""
        if not start:
            return
        _log.info("fetching and discarding %d items of %s to resume at %s", start, self._name, self._outer)
        with replay_progress(start, f"resuming {self._outer}") as advance:
            for step in range(start):
                try:
                    self._fetch(step)
                except StopIteration:
                    raise self._too_short(start, step) from None
                advance()

    def _too_short(self, start: int, length: int) -> StateMismatchError:
        return StateMismatchError(
            f"the checkpoint stands at {self._name} {start} of {self._outer}, but this iterable ended after {length}: "
            "resume with the same data and batch size, or start the epoch anew."
        )

    def _fetch(self, step: int) -> T:
        if step == self._end:
            raise StopIteration
        assert self._inner is not None  # made by _open
        self._at(**{self._name: step}, phase="fetch")
        return next(self._inner)

    def _at(self, **coordinates: Value) -> None:
        entry, seeder = self._entry, self._entry.seeder
        if stack.observers:
            stack.notify("end", entry)
        entry.address = self._outer.extended(**coordinates)
        seeder.seed(seeder.sources(), entry.address, entry.shared, entry.master_seed)
        if stack.observers:
            stack.notify("at", entry)

    def _check_innermost(self) -> None:
        top = stack.innermost()
        if top is not self._entry:
            where = "no scope is open" if top is None else f"{top.address} is the innermost scope"
            raise ScopeError(
                f"the loop {self._name!r} belongs to {self._entry.start}, but {where}: advance it directly inside "
                f"its scope."
            )


def _refuse_persistent(iterable: object) -> None:
    """Refuse a plain loader whose workers live on: they keep the streams of the epoch in which they were started."""
    import torch.utils.data

    if not isinstance(iterable, torch.utils.data.DataLoader) or hasattr(iterable, "start_at"):
        return
    if iterable.persistent_workers and iterable.num_workers > 0:
        raise ScopeError(
            "Workers that outlive an epoch keep old streams; use rs.data.seeded_loader(...), same arguments, or "
            "persistent_workers=False."
        )
