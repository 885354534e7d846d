"""Where in the run the process is: the chain of open addresses, and a count of optimizer steps where no loop counts."""

from __future__ import annotations

from collections import Counter
from typing import Any

from reproseed import run, stack
from reproseed.address import Address
from reproseed.stack import Entry

Key = tuple[tuple[Address, ...], int, int]


class Places:
    """Keeps count of visits and optimizer steps; `now` is the present place."""

    def __init__(self) -> None:
        self._visits: Counter[tuple[Address, ...]] = Counter()
        self._visit_of: dict[int, int] = {}
        self._ticks: Counter[tuple[tuple[Address, ...], int]] = Counter()
        self.steps = 0

    def now(self) -> Key:
        """Return chain, visit and tick."""
        entries = stack.entries()
        chain = _chain(entries)
        visit = self._visit_of.get(id(entries[-1]), 0) if entries else 0
        return chain, visit, self._ticks[chain, visit]

    def enter(self, entry: Entry) -> None:
        """Count an entry."""
        chain = _chain(stack.entries())
        self._visit_of[id(entry)] = self._visits[chain]
        self._visits[chain] += 1

    def leave(self, entry: Entry) -> None:
        """Forget an entry."""
        self._visit_of.pop(id(entry), None)

    def stepped(self) -> None:
        """Count an optimizer step; it moves the place on unless a loop over steps does so."""
        self.steps += 1
        entries = stack.entries()
        if any(entry.address != entry.start for entry in entries):
            return
        chain = _chain(entries)
        self._ticks[chain, self._visit_of.get(id(entries[-1]), 0) if entries else 0] += 1


def plain(key: Key) -> dict[str, Any]:
    """Return the record that begins a place."""
    chain, visit, tick = key
    return {"t": "place", "a": [dict(address) for address in chain], "v": visit, "k": tick}


def _chain(entries: tuple[Entry, ...]) -> tuple[Address, ...]:
    """Return the open addresses. What has no position of its own stands after what the run did last.

    An evaluation at (task="eval") comes once an epoch: in a resumed run the first is not the first of the full run.
    """
    chain = tuple(entry.address for entry in entries)
    seeder = run._current
    if seeder is not None and all(name == "task" for entry in entries for name in entry.start):
        return (seeder.base.without("step", "phase"), *chain)
    return chain
