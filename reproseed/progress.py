"""How far a run has come: per task its epoch and its loops over steps, and the loops over epochs.

Plain bookkeeping: it seeds nothing and knows no generator. What it writes into a checkpoint, `Loaded` reads back
and hands to `epochs` and `steps`, once.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from reproseed.address import Address, Value
from reproseed.errors import ResumeWarning, StateError, warn

if TYPE_CHECKING:
    from reproseed.stack import Entry

Key = tuple[tuple[str, Value], ...]
STEP_NAMES = ("epoch", "step")


def key_of(coordinates: dict[str, Value]) -> Key:
    """Return coordinates as a key, independent of their order."""
    return tuple(sorted(coordinates.items()))


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
        self.states: dict[str, Callable[[], Any]] = {}

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

    def ran(self, name: str) -> bool:
        """Whether a loop of this name has ended at the present depth."""
        depth = len(self.live)
        return depth < len(self.ended) and name in self.ended[depth]

    def advance(self, loop: Live) -> None:
        """Take notice that a loop goes on to its next item, which ends all that was inside."""
        depth = self.live.index(loop)
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


class Position:
    """Where one task stands: the scope that it entered last."""

    def __init__(self, address: Address, own: dict[str, Value]) -> None:
        self.address = address
        self.own = own
        self.open = 0
        self.scoped = True
        self.loops = Loops()
        self.resumed: list[dict[str, Any]] = []
        self.loader_states: dict[str, Any] = {}

    @property
    def key(self) -> Key:
        """The task and the user's own coordinates."""
        task = {"task": self.address["task"]} if "task" in self.address else {}
        return key_of({**self.own, **task})


class EpochLoop:
    """One loop over epochs: where it stands, and whether a scope of that epoch was entered."""

    def __init__(self, name: str, coordinates: dict[str, Value]) -> None:
        self.name = name
        self.coordinates = coordinates
        self.value = 0
        self.entered = False
        self.open = 0

    def stand_before(self, value: int) -> None:
        """Stand at the beginning of an epoch: no scope of it has been entered."""
        self.value, self.entered, self.open = value, False, 0

    def holds(self, address: Address) -> bool:
        """Whether an address lies in the epoch that this loop is in."""
        return address.get(self.name) == self.value and all(
            address.get(name, value) == value for name, value in self.coordinates.items()
        )


class Progress:
    """The positions of a run."""

    def __init__(self) -> None:
        self.tasks: dict[Key, Position] = {}
        self.loops: dict[Key, EpochLoop] = {}
        self.loaded = Loaded([], [])

    def enter(self, entry: Entry) -> None:
        """Take notice that a scope was entered."""
        address = entry.start
        if not entry.seeds:
            return
        for loop in self.loops.values():
            if loop.holds(address):
                loop.entered = True
                loop.open += 1
        own = {name: value for name, value in entry.own.items() if name not in STEP_NAMES}
        position = Position(address, own)
        known = self.tasks.get(position.key)
        if known is not None and known.open and known.address == address:
            position = known  # the same scope again, inside itself
        elif "epoch" in address:
            self.tasks[position.key] = position
            position.resumed = self.loaded.take_task(position)
        position.open += 1
        entry.position = position

    def leave(self, entry: Entry) -> None:
        """Take notice that a scope was closed."""
        if entry.position is None:
            return
        entry.position.open -= 1
        for loop in self.loops.values():
            if loop.open and loop.holds(entry.start):
                loop.open -= 1
        entry.position = None

    def reseed(self, address: Address, own: dict[str, Value]) -> None:
        """Take notice of a `reseed`, which opens no scope."""
        position = Position(address, own)
        position.scoped = False
        if "epoch" in address:
            self.tasks[position.key] = position
            position.resumed = self.loaded.take_task(position)

    def keep(self, position: Position) -> None:
        """Keep the position of a scope without an epoch, because it iterates over steps."""
        self.tasks[position.key] = position
        position.resumed = position.resumed or self.loaded.take_task(position)

    def plain(self, resume: str) -> dict[str, Any]:
        """Return the positions in plain types, for a checkpoint.

        Args:
            resume: ``"next"``: the step that is running counts as done; ``"same"``: it does not.
        """
        return {
            "tasks": [self._task(position, resume) for position in self.tasks.values()],
            "epochs": [
                {
                    "name": loop.name,
                    "coordinates": dict(loop.coordinates),
                    "start": loop.value + int(loop.entered and not loop.open and resume == "next"),
                }
                for loop in self.loops.values()
            ],
        }

    def unknown_steps(self) -> list[Address]:
        """Return the addresses of open epochs whose steps are not known."""
        return [
            position.address
            for position in self.tasks.values()
            if position.open and "epoch" in position.address and not position.loops.used
        ]

    def _task(self, position: Position, resume: str) -> dict[str, Any]:
        # A loader's own state stands behind the item that it has given out, so it does not serve "same".
        states = {name: state() for name, state in position.loops.states.items() if resume == "next"}
        return {
            "address": dict(position.address),
            "own": dict(position.own),
            "open": int(position.open > 0),
            "scoped": int(position.scoped),
            "levels": position.loops.plain(resume),
            "loaders": states,
        }


class Loaded:
    """The positions of a checkpoint, each handed out once."""

    def __init__(self, tasks: list[dict[str, Any]], loops: list[dict[str, Any]]) -> None:
        self.tasks: dict[Key, dict[str, Any]] = {}
        self.loops: dict[Key, int] = {}
        try:
            for task in tasks:
                address = Address(**task["address"])
                position = Position(address, dict(task["own"]))
                entry = {
                    "address": address,
                    "open": bool(task["open"]),
                    "scoped": bool(task["scoped"]),
                    "levels": [{str(n): int(c) for n, c in level.items()} for level in task["levels"]],
                    "loaders": dict(task["loaders"]),
                }
                self.tasks[position.key] = entry
            for loop in loops:
                self.loops[key_of({**loop["coordinates"], "": str(loop["name"])})] = int(loop["start"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StateError(f"the checkpoint's part 'position' is damaged: {error!r}") from error

    def take_loop(self, name: str, coordinates: dict[str, Value]) -> int:
        """Return the epoch at which a loop begins; 0 unless the checkpoint holds this loop."""
        return self.loops.pop(key_of({**coordinates, "": name}), 0)

    def take_task(self, position: Position) -> list[dict[str, Any]]:
        """Return how far the loops of a scope had come; empty unless the checkpoint stopped inside this very scope."""
        saved = self.tasks.pop(position.key, None)
        if saved is None:
            return []
        before, now = saved["address"].get("epoch"), position.address.get("epoch")
        if saved["address"] == position.address and (saved["open"] or saved["levels"]):
            position.loader_states = saved["loaders"]
            return list(saved["levels"])
        following = isinstance(before, int) and isinstance(now, int) and now == before + 1
        again = now == before and (saved["open"] or not saved["scoped"])
        if not (following or again):
            step = f", step {_first(saved['levels'])}" if saved["open"] and saved["levels"] else ""
            state = "" if saved["open"] or not saved["scoped"] else " (complete)"
            count = f"{before}" if saved["open"] or not isinstance(before, int) else f"{before + 1}"
            warn(
                f"Loaded position is epoch {before}{step}{state}, but epoch {now} was entered"
                f"{': it will be trained again' if _earlier(now, before) else ''}. "
                f"Use rs.epochs(n) or range({count}, n).",
                ResumeWarning,
            )
        return []


def _earlier(now: Value | None, before: Value | None) -> bool:
    return isinstance(now, int) and isinstance(before, int) and now <= before


def _first(levels: list[dict[str, Any]]) -> Any:
    done = next(iter(levels[0].values()), 0) if levels else 0
    return max(done, ~done)
