"""The loops over steps of one scope, those that run and those that have ended; and a loop over epochs."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any

from reproseed.address import Address, Value


class Live:
    """A loop over steps that is running.

    Attributes:
        done: items whose body has ended, or the index of the one that is running.
        running: whether a body is running, so that ``done`` is about to grow.
        outer: the address around the loop.
        owner: the iterator, held weakly: a loop that was left by ``break`` dies with it.
    """

    def __init__(self, name: str, start: int, outer: Address, owner: object) -> None:
        self.name = name
        self.done = start
        self.running = False
        self.outer = outer
        self.owner = weakref.ref(owner)


class Loops:
    """The loops over steps of one scope, by depth of nesting: those that run, outermost first, and those that ended.

    The items of a loop that has ended are counted as ``~n``, so that it is known from one that stands before item n.
    """

    def __init__(self) -> None:
        self.live: list[Live] = []
        self.ended: list[dict[str, int]] = []
        # Loaders that keep a state of their own, while their loop runs: the state of one that has ended would begin
        # its next pass.
        self.states: dict[str, Callable[[], Any]] = {}
        # What a step of a loader of ours is, also after its loop: the next epoch must count alike.
        self.layouts: dict[str, Callable[[], Any]] = {}

    @property
    def used(self) -> bool:
        """Whether any loop has begun."""
        return bool(self.live or self.ended)

    def begin(self, loop: Live) -> int:
        """Add a loop inside those that run; return its depth."""
        self.live.append(loop)
        return len(self.live) - 1

    def end(self, loop: Live) -> None:
        """Count a loop, and any left inside it, as ended."""
        depth = self.live.index(loop)
        for one in self.live[depth:]:
            self.states.pop(one.name, None)
        del self.live[depth:]
        while len(self.ended) <= depth:
            self.ended.append({})
        self.ended[depth][loop.name] = ~(loop.done + loop.running)
        del self.ended[depth + 1 :]

    def end_left(self) -> Address | None:
        """Count the innermost loops that were left by ``break`` as ended; return the address around them."""
        around = None
        while self.live and self.live[-1].owner() is None:
            around = self.live[-1].outer
            self.end(self.live[-1])
        return around

    def left(self) -> list[Live]:
        """Return the innermost loops that were left in the middle, if the code that left them is past all of them.

        While an exception is handled, the save may be that of a handler which ends the run: there nothing is in doubt.
        """
        if not self.live or self.live[-1].owner() is not None or sys.exc_info()[0] is not None:
            return []
        return [loop for loop in self.live[-1:] if not any(one.owner() is not None for one in self.live)]

    def ran(self, name: str) -> bool:
        """Whether a loop of this name has ended at the present depth."""
        depth = len(self.live)
        return depth < len(self.ended) and name in self.ended[depth]

    def advance(self, loop: Live) -> None:
        """Take notice that a loop goes on to its next item, which ends all that was inside."""
        depth = self.live.index(loop)
        for one in self.live[depth + 1 :]:
            self.states.pop(one.name, None)
        del self.live[depth + 1 :]
        del self.ended[depth + 1 :]
        loop.done += loop.running
        loop.running = False

    def plain(self, resume: str) -> list[dict[str, int]]:
        """Return the number of items done for each depth; a loop around a running one stands at the item it is in."""
        # A loop left by `break` has ended if the one around it goes on; if none does, the save may come from a handler
        # of what ended them all, and the loops stand where they were.
        alive = [depth for depth, loop in enumerate(self.live) if loop.owner() is not None]
        live = self.live[: alive[-1] + 1] if alive else self.live
        levels = [dict(level) for level in self.ended[: len(live) or 1]]
        for depth, loop in enumerate(live):
            while len(levels) <= depth:
                levels.append({})
            innermost = depth == len(live) - 1
            levels[depth][loop.name] = loop.done + (loop.running if innermost and resume == "next" else 0)
        return levels


class EpochLoop:
    """One loop over epochs: where it stands, and whether a scope of that epoch was entered."""

    def __init__(self, name: str, coordinates: dict[str, Value]) -> None:
        self.name = name
        self.coordinates = coordinates
        self.value = self.start = 0
        self.running = False
        self.entered = False
        self.open = 0
        self.by_steps = False  # its first scope named the step itself: nothing says which scope is the last
        self.unnamed: Address | None = None  # a scope that was entered and does not name the epoch
        self.ever_entered = False
        self.again = False  # an earlier loop of this run had the same name and coordinates

    def stand_before(self, value: int, running: bool = True) -> None:
        """Stand at the beginning of an epoch: no scope of it has been entered."""
        self.value, self.running, self.entered, self.open = value, running, False, 0
        self.by_steps, self.unnamed = False, None

    def enter(self, address: Address) -> bool:
        """Take notice of a scope; return whether it belongs to the epoch."""
        if not self.leads_to(address):
            if self.running and self.name not in address:
                self.unnamed = address
            return False
        if not self.entered:
            self.by_steps = "step" in address
        self.entered = self.ever_entered = True
        self.open += 1
        return True

    def holds(self, address: Address) -> bool:
        """Whether an address lies in the epoch that this loop is in."""
        return address.get(self.name) == self.value and all(
            address.get(name, value) == value for name, value in self.coordinates.items()
        )

    def leads_to(self, address: Address) -> bool:
        """Whether a scope of this address belongs to the epoch: it lies in it, or follows it and names no epoch."""
        return self.holds(address) or (self.running and self.entered and self.name not in address)
