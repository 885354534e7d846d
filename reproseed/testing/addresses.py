"""`watch_addresses`: report an address that is entered twice in a run."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, Literal

from reproseed import entering
from reproseed.address import Address
from reproseed.driving import Activation
from reproseed.errors import CoordinateTypeError, RepeatedAddressWarning, ScopeError, warn
from reproseed.scoping import Scoped
from reproseed.stack import Entry
from reproseed.testing.patches import Patches
from reproseed.testing.seeding import PACKAGE


class WatchAddresses(Scoped):
    """What `watch_addresses` returns."""

    _what = "watch_addresses(...)"
    _unused = "Nothing was watched: write `with rs.testing.watch_addresses():`."

    def __init__(self, mode: Literal["warn", "error"], allow: Iterable[Any]) -> None:
        if mode not in ("warn", "error"):
            raise CoordinateTypeError(f"watch_addresses({mode!r}): allowed are 'warn' and 'error'.")
        if isinstance(allow, str):
            raise CoordinateTypeError(f"watch_addresses(allow={allow!r}): a list of tasks is wanted, [{allow!r}].")
        self.mode = mode
        self.allow = tuple(allow)
        self._places: dict[tuple[Any, ...], str] = {}
        super().__init__()

    def _open(self) -> Any:
        self._used = True
        patches = Patches()
        enter = entering.enter

        def watching(entry: Entry, restores: bool) -> None:
            self._note(entry)
            enter(entry, restores)

        patches.replace(entering, "enter", watching)
        return patches

    def _close(self, handle: Any, failed: bool = False) -> None:
        handle.undo()

    def _activate(self, handle: Any = None) -> Activation:
        raise CoordinateTypeError("watch_addresses() is for a whole run: it decorates plain functions only.")

    def _note(self, entry: Entry) -> None:
        if not entry.seeds or entry.address.get("task") in self.allow:
            return
        key = (id(entry.seeder), entry.master_seed, entry.address, entry.shared)
        here = _place()
        first = self._places.setdefault(key, here)
        if first is here:
            return
        message = (
            f"{entry.address} was entered at {first} and again at {here}: both draw the same numbers. Give one of them "
            f"another address{_advice(entry.address)}."
        )
        if self.mode == "error":
            raise ScopeError(message)
        warn(message, RepeatedAddressWarning)


def watch_addresses(mode: Literal["warn", "error"] = "warn", *, allow: Iterable[Any] = ()) -> WatchAddresses:
    """Return a scope in which an address that is entered a second time is reported, with both places.

    For a whole run: two functions that share a task by mistake, an epoch that is trained twice. An evaluation that is
    meant to draw the same numbers each time is named in ``allow``.

    Args:
        mode: ``"warn"`` with a `RepeatedAddressWarning`, or raise a `ScopeError` at the second entry.
        allow: tasks whose addresses may be entered again.

    >>> import reproseed as rs
    >>> with rs.testing.watch_addresses("error", allow=["eval"]):
    ...     for _ in range(2):
    ...         with rs.seeded(master_seed=1, task="eval"):
    ...             pass
    """
    return WatchAddresses(mode, allow)


def _advice(address: Address) -> str:
    return f", or allow it: watch_addresses(allow=[{address['task']!r}])" if "task" in address else ""


def _place() -> str:
    frame = sys._getframe(1)
    through = ("wrapt", "contextlib", "functools")
    while frame.f_back is not None and (
        frame.f_code.co_filename.startswith(PACKAGE) or frame.f_globals.get("__name__", "").split(".")[0] in through
    ):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
