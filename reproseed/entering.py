"""Entering and leaving a scope: all generators on its streams, and everything back; and a call that is suspended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reproseed import stack
from reproseed.errors import RepeatedAddressWarning, ResumeWarning, warn
from reproseed.snapshots import Snapshot, put_back
from reproseed.stack import Entry

if TYPE_CHECKING:
    from reproseed.scopes import Preserved, Scope
    from reproseed.scoping import Scoped
    from reproseed.seeder import Seeder


def enter(entry: Entry, restores: bool) -> None:
    """Put the process on an entry's streams; a failure at any point leaves all as it was.

    Raises:
        ConcurrentScopeError: other running code holds the generators.
        CaptureError: a device graph is being captured.
    """
    seeder = entry.seeder
    stack.admit(entry.address)
    seeder.refuse_capture(entry.address)
    if entry.seeds and seeder.pending is not None:
        seeder.arrive_at(entry.address, entry.own)
    around = stack.innermost()
    if around is not None and entry.seeds and stack.count(around, entry):
        warn(
            f"{entry.address} was entered {stack.REPEATS + 1} times inside {around.address}: every call draws the same "
            "numbers. Per sample use rs.data.SampleSeeded, per step rs.current().at(...).",
            RepeatedAddressWarning,
        )
    sources = seeder.sources()
    entry.before = Snapshot(sources)
    if restores:
        entry.target = entry.before
    try:
        if entry.seeds:
            seeder.seed(sources, entry.address, entry.shared, entry.master_seed)
        seeder.progress.enter(entry)
        stack.push([entry])
    except BaseException:
        seeder.progress.leave(entry)
        give_back(seeder, entry.before, around)
        raise


def leave(entry: Entry, failed: bool = False) -> None:
    """Close an entry, and put back what it has to give back; ``failed`` if its body raised, which says all there is."""
    with stack.lock():
        seeder = entry.seeder
        doubt = seeder.progress.leave(entry)
        around = stack.beside(entry)
        was_open, target = stack.remove(entry)
        if target is not None:
            give_back(seeder, target, around)
        elif was_open and around is None and entry.seeds:
            seeder.stand_at(entry.address, entry.shared, entry.master_seed)
    if doubt and not failed:
        warn(doubt, ResumeWarning)


def give_back(seeder: Seeder, target: Snapshot, around: Entry | None) -> None:
    """Restore a snapshot; what it does not hold is seeded for the scope around."""
    late = [source for source in seeder.sources() if source.name not in target.states]
    if not late:
        put_back(target, (), None)
        return
    try:
        put_back(target, late, seeder.streams_around(around))
    finally:
        seeder.note_not_restorable(late)  # after the restore, which a warning turned into an error may not stop


class Driven:
    """One call of a function that can be suspended: its open scopes, put aside while it waits."""

    def __init__(self, scope: Scoped, handle: Scope | None) -> None:
        self._scope = scope
        self._entry = None if handle is None else handle._entry
        self._segment: list[Entry] = []
        self._inside: Snapshot | None = None
        if self._entry is not None:
            self._entry.target = self._entry.before
            self.suspend()

    def resume(self) -> None:
        """Put the function's streams and scopes in place."""
        with stack.lock():
            self._resume()

    def _resume(self) -> None:
        if self._entry is None:
            self._entry = self._scope._open()._entry
            self._entry.target = self._entry.before
            return
        if not self._segment or self._inside is None:
            return
        seeder, inner = self._entry.seeder, self._segment[-1]
        stack.admit(inner.address)
        seeder.refuse_capture(inner.address)
        sources = seeder.sources()
        caller = Snapshot(sources)
        try:
            put_back(self._inside, sources, seeder.streams_around(inner))
        except BaseException:
            put_back(caller, sources, seeder.streams_around(stack.innermost()))
            raise
        self._entry.target = caller
        stack.push(self._segment)

    def suspend(self) -> None:
        """Put them aside, and the caller's back."""
        if self._entry is not None:
            with stack.lock():
                self._suspend(self._entry)

    def _suspend(self, entry: Entry) -> None:
        self._inside = None
        try:
            self._inside = Snapshot(entry.seeder.sources())
        finally:
            self._segment = stack.detach(entry)
            if self._segment and entry.target is not None:
                give_back(entry.seeder, entry.target, stack.innermost())

    def finish(self, failed: bool = False) -> None:
        """Count the scope as closed."""
        if self._entry is not None:
            self._entry.seeder.progress.leave(self._entry)

    def __del__(self) -> None:
        # A driver that was never started ends without a `finish`.
        if self._entry is not None:
            self._entry.seeder.progress.leave(self._entry)


class Watched(Driven):
    """One call of a suspendable function in ``preserved(check=...)``: what moved between resumption and suspension."""

    def __init__(self, scope: Preserved, handle: Scope | None) -> None:
        self._moved: list[str] = []
        self._preserved = scope
        super().__init__(scope, handle)

    def suspend(self) -> None:
        """Put the scope aside, and note what has moved since it was put in place."""
        earlier = self._inside
        super().suspend()
        if self._entry is not None and self._inside is not None:
            moved = self._inside.differs(earlier or self._entry.before or self._inside)
            self._moved += [name for name in moved if name not in self._moved]

    def finish(self, failed: bool = False) -> None:
        """Count the scope as closed, and report what moved."""
        super().finish(failed)
        self._preserved._report([] if failed else self._moved)
