"""The open scopes of this process: who may enter, who restores what, in whatever order they close.

The global generators belong to the process, so all seeders share this one stack. It handles snapshots and addresses
as values; it seeds and restores nothing by itself.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from reproseed.address import Address, Value
from reproseed.errors import ConcurrentScopeError, ScopeOrderWarning, warn

if TYPE_CHECKING:
    from reproseed.seeder import Seeder
    from reproseed.snapshots import Snapshot

REPEATS = 16
"""Entries of one address inside one scope before it is warned of."""
_COUNTED = 4096  # an epoch may enter at(step=...) a million times; those seen seldom are forgotten


class Entry:
    """One entry of a scope: where it stands, what was before, and what it gives back.

    Attributes:
        seeder: the seeder whose sources it seeds.
        master_seed: the seed it derives from, if not the seeder's own.
        address: the address in force, with the coordinates of the step that is running.
        own: the user's own coordinates, which nested scopes inherit.
        shared: whether its streams leave the rank out.
        seeds: False for a scope that only preserves.
        before: the snapshot at entry.
        target: what to restore at exit: its snapshot if it restores, or one handed over by a scope that closed early.
        counts: how often each address was entered directly inside.
        loops: the loops over epochs whose epoch it lies in, kept by `reproseed.progress`.
    """

    __slots__ = (
        "__weakref__", "address", "before", "counts", "inherited", "loops", "master_seed", "own", "parent", "position",
        "seeder", "seeds", "shared", "start", "target", "task", "thread",
    )  # fmt: skip

    def __init__(
        self,
        seeder: Seeder,
        master_seed: int | None,
        address: Address,
        own: dict[str, Value],
        shared: bool,
        seeds: bool = True,
    ) -> None:
        self.seeder = seeder
        self.master_seed = master_seed
        self.address = self.start = address
        self.own = own
        self.shared = shared
        self.seeds = seeds
        self.before: Snapshot | None = None
        self.target: Snapshot | None = None
        self.counts: dict[tuple[Address, int | None, bool], int] = {}
        self.loops: Sequence[tuple[Any, int]] = ()
        self.position: Any = None
        self.inherited = False
        self.parent: Entry | None = None
        self.thread: threading.Thread | None = None
        self.task: asyncio.Task[Any] | None = None

    def runs_elsewhere(self) -> bool:
        """Whether the code that opened it is still running, and is not the code that asks."""
        if self.thread is not threading.current_thread():
            return self.thread is not None and self.thread.is_alive()
        return self.task is not None and self.task is not _current_task() and not self.task.done()


observers: list[Callable[[str, Entry], None]] = []
"""Called with what happens and the entry it happens to, on the streams of that moment: ``"enter"``; ``"end"`` before a
loop leaves an address and ``"at"`` once it stands at the next; ``"leave"``, before anything is given back. The tracer
listens here; an observer draws nothing, changes nothing and does not raise."""

_open: list[Entry] = []
# Held while a scope is entered, left, resumed or put aside: another thread must see that done or not begun.
_lock = threading.RLock()
# The entries that this context knows of: asyncio's tasks and to_thread inherit it, plain threads do not.
_chain: ContextVar[Entry | None] = ContextVar("reproseed_chain", default=None)


def lock() -> AbstractContextManager[Any]:
    """Return the lock to hold while the generators change hands; the thread that holds it may take it again."""
    return _lock


def notify(event: str, entry: Entry) -> None:
    """Tell the observers."""
    for observer in tuple(observers):
        observer(event, entry)


def innermost() -> Entry | None:
    """Return the innermost open scope's entry."""
    return _open[-1] if _open else None


def outermost() -> Entry | None:
    """Return the outermost open scope's entry."""
    return _open[0] if _open else None


def entries() -> tuple[Entry, ...]:
    """Return all open entries, outermost first."""
    return tuple(_open)


def beside(entry: Entry) -> Entry | None:
    """Return the innermost open entry, leaving this one out."""
    if not _open or _open[-1] is not entry:
        return innermost()
    return _open[-2] if len(_open) > 1 else None


def admit(address: Address) -> None:
    """Raise unless the running code may enter a scope now.

    Raises:
        ConcurrentScopeError: the innermost open scope is not one of this context's, its owner still runs, and no
            backward pass is recomputing on autograd's threads.
    """
    top = innermost()
    if top is None or not top.runs_elsewhere():
        return
    known = _chain.get()
    while known is not None:
        if known is top:
            return
        known = known.parent
    if recomputing():
        return
    owner = f"thread {top.thread.name!r}" if top.thread is not None else "other code"
    if top.task is not None:
        owner = f"task {top.task.get_name()!r}"
    raise ConcurrentScopeError(
        f"cannot enter {address}: {owner} is inside {top.address}, and the global generators belong to the whole "
        "process. Draw from rs.stream(...), which each thread may do, or hand this scope over with "
        "contextvars.copy_context().run(...)."
    )


def recomputing() -> bool:
    """Whether the running code is part of a backward pass, as the recomputation of a checkpointed block is."""
    import torch

    return torch._C._current_graph_task_id() != -1


def known_innermost() -> Entry | None:
    """Return the innermost open entry that this context knows of: its own, or of one that it was started from."""
    known = _chain.get()
    while known is not None and known not in _open:
        known = known.parent
    return known


def push(entries: list[Entry]) -> None:
    """Make entries the innermost, outer ones first; the last is the one that the running context is in."""
    with _lock:
        known = _chain.get()
        while known is not None and known in entries:  # this context has seen them before they were put aside
            known = known.parent
        entries[0].parent = known
        thread, task = threading.current_thread(), _current_task()
        for entry in entries:
            entry.thread, entry.task = thread, task
        _open.extend(entries)
        _chain.set(entries[-1])
    if observers:
        for entry in entries:
            notify("enter", entry)


def remove(entry: Entry) -> tuple[bool, Snapshot | None]:
    """Take an entry off the stack; return whether it was on it, and what is to be restored now, if anything.

    Out of order, its restore target goes to the scope above it, in place of that one's: the outcome is then that of
    closing last in, first out.
    """
    if observers and entry in _open:
        notify("leave", entry)
    with _lock:
        if _open and _open[-1] is entry:
            _open.pop()
            _leave_chain(entry)
            return True, entry.target
        if entry not in _open:
            return False, None
        index = _open.index(entry)
        del _open[index]
        _leave_chain(entry)
        above = _open[index]
        if entry.target is not None:
            above.target = entry.target
    warn(
        f"{entry.start} was closed while {above.start}, opened inside it, is open. What it would have given back is "
        f"given back when {above.start} closes. In a generator, decorate the function instead of opening a scope "
        f"over yield.",
        ScopeOrderWarning,
    )
    return True, None


def detach(entry: Entry) -> list[Entry]:
    """Take an entry and all above it off the stack, to be put on again by `push`; nothing if it was cleared."""
    if observers and entry in _open:
        for left in reversed(_open[_open.index(entry) :]):
            notify("leave", left)
    with _lock:
        if entry not in _open:
            return []
        index = _open.index(entry)
        segment = _open[index:]
        del _open[index:]
        _leave_chain(entry)
        return segment


def count(around: Entry, entry: Entry) -> bool:
    """Count an entry directly inside another; True when its draws have been repeated so often that it is warned of."""
    counts, streams = around.counts, (entry.address, entry.master_seed, entry.shared)
    if len(counts) >= _COUNTED and streams not in counts:
        for rare in [known for known, times in counts.items() if times <= REPEATS]:
            del counts[rare]
    times = counts[streams] = counts.get(streams, 0) + 1
    return times == REPEATS + 1


def clear() -> list[Entry]:
    """Forget all open entries, and return them."""
    with _lock:
        left = list(_open)
        _open.clear()
        _chain.set(None)
        return left


def _leave_chain(entry: Entry) -> None:
    known = _chain.get()
    while known is not None and (known is entry or known not in _open):
        known = known.parent
    _chain.set(known)


def _current_task() -> asyncio.Task[Any] | None:
    return asyncio.current_task() if asyncio._get_running_loop() is not None else None


def _after_fork() -> None:
    """Give the scopes that a child inherits to the child: its parent's threads and tasks are not there."""
    global _lock
    _lock = threading.RLock()
    for entry in _open:
        entry.thread = threading.current_thread()
        entry.task = None
        entry.inherited = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
