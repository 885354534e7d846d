"""A snapshot: the states of all sources at one moment."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import Any

from reproseed.errors import StateError
from reproseed.sources.plain import encode
from reproseed.sources.protocol import Source
from reproseed.streams import Stream

StreamOf = Callable[[Source], Stream]


class Snapshot:
    """The states of all sources at one moment, and the way back to it.

    Taking and restoring a snapshot draws nothing. Equal snapshots have equal states, byte for byte.

    >>> import random, reproseed as rs
    >>> before = rs.snapshot()
    >>> x = random.random()
    >>> before.moved()
    ['python']
    >>> before.restore()
    >>> x == random.random()
    True
    """

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources: dict[str, Source] = {}
        self.states: dict[str, Any] = {}
        for source in sources:
            self._sources[source.name] = source
            if source.restorable:
                self.states[source.name] = source.snapshot()

    def restore(self) -> None:
        """Put every source back; each is tried, then the first error is raised."""
        put_back(self, (), None)

    def moved(self) -> list[str]:
        """Return the names of the sources whose state differs now, in the order of seeding; the dead do not move."""
        present = [(name, state, self._sources[name]) for name, state in self.states.items()]
        return [name for name, state, source in present if source.active() and not _same(source.snapshot(), state)]

    def differs(self, other: Snapshot) -> list[str]:
        """Return the names of the sources whose states differ, or that only one of the two has."""
        names = [*self.states, *(name for name in other.states if name not in self.states)]
        missing = object()
        return [n for n in names if not _same(self.states.get(n, missing), other.states.get(n, missing))]

    def to_plain(self) -> dict[str, Any]:
        """Return the states in plain types, by source name."""
        return {name: self._sources[name].to_plain(state) for name, state in self.states.items()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and not self.differs(other)

    __hash__ = None  # type: ignore[assignment]  # compares by value, and states are not hashable

    def __repr__(self) -> str:
        return f"Snapshot({', '.join(self.states)})"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a Snapshot belongs to its process; reproseed.state_dict() is the form to save.")


def _same(one: Any, other: Any) -> bool:
    try:
        if one == other:
            return True
    except (RuntimeError, ValueError):
        pass  # a registered object's own state may hold arrays or tensors, whose comparison has no single answer
    try:
        return bool(encode(one) == encode(other))
    except StateError:
        pass  # ... or objects that compare by identity
    try:
        return pickle.dumps(one) == pickle.dumps(other)
    except (pickle.PicklingError, TypeError, AttributeError):
        return False


def put_back(snapshot: Snapshot, present: Iterable[Source], streams: Callable[[], StreamOf] | None) -> None:
    """Restore a snapshot, and reseed what it cannot hold.

    Args:
        snapshot: what to go back to.
        present: the sources that exist now. One that has no state in the snapshot (a callable, a device that came up
            since, a generator registered since) is seeded instead.
        streams: gives the streams to seed those from: the enclosing address's.

    Raises:
        BaseException: the first error met; all other sources have been put back by then.
    """
    first: BaseException | None = None
    states, sources = snapshot.states, snapshot._sources
    for name, state in states.items():
        try:
            # A forked child that leaves its parent's scope finds states of devices there, which it must not touch.
            if sources[name].active():
                sources[name].restore(state)
        except BaseException as error:
            first = first or error
    late = [source for source in present if source.name not in states]
    if late and streams is not None:
        stream_of = streams()
        for source in late:
            try:
                source.seed(stream_of(source))
            except BaseException as error:
                first = first or error
    if first is not None:
        raise first
