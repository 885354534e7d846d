"""`Steps` and `Epochs`: loops whose every phase is addressed, so that a resumed run needs no history.

Making the iterator happens at (..., phase="iter"), fetching item i at (..., step=i, phase="fetch"), the body runs at
(..., step=i), and what follows the last item at (..., phase="after").
"""

from __future__ import annotations

import contextlib
import functools
import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from reproseed import stack
from reproseed.address import Value, check_names, check_value, integer
from reproseed.errors import (
    CoordinateTypeError,
    RepeatedAddressWarning,
    ResumeWarning,
    ScopeError,
    StateMismatchError,
    warn,
)
from reproseed.loops import Live, Loops
from reproseed.progress import EpochLoop, key_of
from reproseed.stack import Entry

if TYPE_CHECKING:
    from reproseed.seeder import Seeder

T = TypeVar("T")
_log = logging.getLogger("reproseed")
_PATIENCE = 1.0  # seconds of replay after which it is shown
_TAKEN = ("task", "master_seed", "shared", "restore")


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
            or name in _TAKEN
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


class Epochs:
    """Iterates over the epochs that are left. Made by `reproseed.epochs`."""

    def __init__(self, seeder: Seeder, n: int, name: str, coordinates: dict[str, Any]) -> None:
        if not isinstance(name, str) or not name.isidentifier() or not name.isascii() or name in (*_TAKEN, "step"):
            raise CoordinateTypeError(
                f"epochs(name={name!r}): a coordinate's name is wanted, such as 'epoch' or 'cycle'."
            )
        check_names(coordinates, ("epoch", "step", "task"), "epochs()")
        self._seeder = seeder
        self._n = integer("epochs", n)
        self._loop = EpochLoop(name, {key: check_value(key, value) for key, value in coordinates.items()})

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[int]:
        loop, progress = self._loop, self._seeder.progress
        self._seeder.arrive_in_loop(loop.name, loop.coordinates)
        start = progress.loaded.take_loop(loop.name, loop.coordinates)
        key = key_of({**loop.coordinates, "": loop.name})
        earlier = progress.loops.get(key)
        loop.again = earlier is not None and earlier.ever_entered
        progress.loops[key] = loop
        loop.start = start
        if start:
            _log.info("the loop over %s begins at %d, where the checkpoint stopped", loop.name, start)
        loop.stand_before(start)
        for value in range(start, self._n):
            loop.stand_before(value)
            yield value
            if loop.unnamed is not None and not loop.ever_entered and value == start < self._n - 1:
                warn(
                    f"{loop.unnamed} does not name the {loop.name}: it draws the same numbers in all. Write "
                    f"rs.seeded(..., {loop.name}=...).",
                    RepeatedAddressWarning,
                )
            if value == start:
                self._warn_of_unused(value)
        loop.stand_before(max(start, self._n), running=False)

    def _warn_of_unused(self, value: int) -> None:
        address = self._seeder.progress.loaded.unused(self._loop.name, value)
        if address is not None:
            warn(
                f"The checkpoint stood inside {address}, which was not entered in {self._loop.name} {value}: what was "
                "left of it was not done. Was the task renamed?",
                ResumeWarning,
            )

    def __repr__(self) -> str:
        return f"<epochs({self._n}, name={self._loop.name!r})>"


@contextlib.contextmanager
def replay_progress(total: int, what: str) -> Iterator[Callable[[], None]]:
    """Give a function to call once an item; a progress bar appears on a terminal after a second, if rich is there."""
    begun, bar = time.monotonic(), None

    def advance() -> None:
        nonlocal bar
        if bar is None and time.monotonic() - begun > _PATIENCE and sys.stderr.isatty():
            bar = _bar(total, what)
        if bar is not None:
            bar.advance(bar.task_ids[0])

    try:
        yield advance
    finally:
        if bar is not None:
            bar.stop()


def _bar(total: int, what: str) -> Any:
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        return None
    bar = Progress(console=Console(stderr=True), transient=True)
    bar.add_task(what, total=total)
    bar.start()
    return bar
