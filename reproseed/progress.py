"""How far a run has come: per task its epoch and its loops over steps, and the loops over epochs.

Plain bookkeeping: it seeds nothing and knows no generator. What it writes into a checkpoint, `Loaded` reads back
and hands to `epochs` and `steps`, once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reproseed.address import Address, Value
from reproseed.errors import ResumeWarning, StateError, warn
from reproseed.loops import EpochLoop, Loops
from reproseed.sources.plain import decode, encode

if TYPE_CHECKING:
    from reproseed.stack import Entry

Key = tuple[tuple[str, Value], ...]


def key_of(coordinates: Mapping[str, Value]) -> Key:
    """Return coordinates as a key, independent of their order."""
    return tuple(sorted(coordinates.items())) if len(coordinates) > 1 else tuple(coordinates.items())


def task_key(address: Address, own: Mapping[str, Value]) -> Key:
    """Return what tells the position of one task from the others': the task and the user's own coordinates."""
    task = address.get("task")
    if task is None:
        return key_of(own)
    return key_of({**own, "task": task}) if own else (("task", task),)


class Position:
    """Where one task stands: the scope that it entered last. Its key: the task and the user's own coordinates."""

    # Defaults of the class: one is made at each entry of a scope, and few have more to say.
    open = 0
    scoped = True
    nested = False  # entered inside another scope of its epoch, whose steps say how far that has come
    resumed: Sequence[dict[str, Any]] = ()
    loader_states: dict[str, Any] | None = None
    earlier: dict[str, Any] | None = None  # the layouts of a checkpoint that stopped in another epoch
    _loops: Loops | None = None

    def __init__(self, address: Address, own: dict[str, Value]) -> None:
        self.address = address
        self.own = own
        self.key = task_key(address, own)

    def inside(self) -> bool:
        """Whether it was a part of another scope's epoch, and has closed: that one says how far the epoch has come."""
        return self.nested and not self.open and not self.loops.used

    @property
    def loops(self) -> Loops:
        """The loops over steps, made at their first use: most scopes have none."""
        if self._loops is None:
            self._loops = Loops()
        return self._loops


class Progress:
    """The positions of a run."""

    def __init__(self) -> None:
        self.tasks: dict[Key, Position] = {}
        self.loops: dict[Key, EpochLoop] = {}
        self._open: dict[Value, int] = {}  # scopes that are open, by their epoch
        self.loaded = Loaded([], [])

    def enter(self, entry: Entry) -> None:
        """Take notice that a scope was entered."""
        address = entry.start
        if not entry.seeds:
            return
        if self.loops:
            entry.loops = [(loop, loop.value) for loop in self.loops.values() if loop.enter(address)]
        epoch = address.get("epoch")
        position = Position(address, entry.own)
        position.nested = epoch in self._open
        known = self.tasks.get(position.key)
        if known is not None and known.open and known.address == address:
            position = known  # the same scope again, inside itself
        elif epoch is not None:
            self.tasks[position.key] = position
            if self.loaded.tasks:
                position.resumed = self.loaded.take_task(position)
        position.open += 1
        entry.position = position
        if epoch is not None:
            self._open[epoch] = self._open.get(epoch, 0) + 1

    def leave(self, entry: Entry) -> str:
        """Take notice that a scope was closed; return what the user is to be warned of, if anything."""
        if entry.position is None:
            return ""
        position = entry.position
        position.open -= 1
        epoch = position.address.get("epoch")
        if epoch is not None:
            left = self._open.pop(epoch) - 1
            if left:
                self._open[epoch] = left
        for loop, value in entry.loops:
            if loop.open and loop.value == value:
                loop.open -= 1
        entry.position = None
        done = next(iter(position.resumed[0].values()), 0) if position.resumed else 0
        if done <= 0 or position.open or position.loops.used:  # a loop that has ended is counted as ~n
            return ""
        return (
            f"The loaded position is step {done} of {position.address}, but no rs.steps(...) ran in that scope: it was "
            "done again from its start."
        )

    def reseed(self, address: Address, own: dict[str, Value]) -> None:
        """Take notice of a `reseed`, which opens no scope."""
        position = Position(address, own)
        position.scoped = False
        if "epoch" in address:
            self.tasks[position.key] = position
            if self.loaded.tasks:
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
        retrained = [loop for loop in self.loops.values() if loop.open and self._would_repeat(loop)]
        ends = [
            loop.entered and resume == "next" and not loop.by_steps and (not loop.open or loop in retrained)
            for loop in self.loops.values()
        ]
        return {
            "tasks": [self._task(one, resume) for one in self.tasks.values() if self._counts(one, bool(retrained))],
            "epochs": [
                {
                    "name": loop.name,
                    "coordinates": dict(loop.coordinates),
                    "start": loop.value + int(ended),
                    "begun": int(loop.entered and not ended),
                }
                for loop, ended in zip(self.loops.values(), ends, strict=True)
            ],
        }

    def _would_repeat(self, loop: EpochLoop) -> bool:
        """Whether going back to this epoch would train again what has ended: a scope whose steps are not known."""
        return any(
            one.scoped and not one.open and not one.loops.used and loop.holds(one.address) and not one.inside()
            for one in self.tasks.values()
        )

    def _counts(self, position: Position, epoch_ends: bool) -> bool:
        """Whether a position is worth keeping: without an epoch, only while its scope is open in an epoch that goes on.

        A pass over one that has ended is done, and the next is another.
        """
        if position.inside() or (not position.open and "step" in position.address):
            return False
        return "epoch" in position.address or (position.open > 0 and not epoch_ends)

    def doubts(self) -> list[str]:
        """Return what a checkpoint that is written now cannot know, in sentences."""
        found = []
        for one in self.tasks.values():
            if one.open and "epoch" in one.address and not one.loops.used:
                at_start = _AT_START.format(one.address["epoch"])
                found.append(f"The step inside {one.address} is unknown: {at_start} {_STEPS}")
            found += [
                f"The loop over steps in {one.address} was left in step {loop.done}, and this checkpoint resumes at "
                f"step {loop.done + loop.running}. Where the rest is not wanted, save after the scope has closed."
                for loop in (one.loops.left() if one.open else ())
            ]
        for loop in self.loops.values():
            if not loop.running:
                continue
            ways = [one.address for one in self.tasks.values() if not one.scoped and loop.holds(one.address)]
            at_start = _AT_START.format(loop.value)
            found += [
                f"reseed() does not say when {way} ends: {at_start} Use `with rs.seeded(...)` inside rs.epochs()."
                for way in ways
            ]
            if loop.entered and loop.by_steps:
                found.append(
                    f"The scopes of {loop.name} {loop.value} name their steps themselves, and nothing says which is "
                    f"the last: {at_start} {_STEPS}"
                )
            if not loop.ever_entered and not ways and (loop.unnamed is not None or loop.value > loop.start):
                found.append(
                    f"No scope has named {loop.name} {loop.value}, so that it is not known to be done: {at_start} "
                    f"Write rs.seeded(task=..., {loop.name}=...) inside rs.epochs()."
                )
            if loop.again:
                found.append(
                    f"A second loop over {loop.name} runs in this run, and a checkpoint knows one of a name: an "
                    'earlier one begins anew on resume. Tell them apart: rs.epochs(n, stage="finetune").'
                )
        return found

    def _task(self, position: Position, resume: str) -> dict[str, Any]:
        again = resume == "same"
        # A loader's own state lies after the item that is running.
        states = {} if again else {name: encode(state()) for name, state in position.loops.states.items()}
        return {
            "address": dict(position.address),
            "own": dict(position.own),
            "open": int(position.open > 0 or again),
            "scoped": int(position.scoped),
            "levels": position.loops.plain(resume) if position.open or not again else [],
            "loaders": states | {name: encode(layout()) for name, layout in position.loops.layouts.items()},
        }


class Loaded:
    """The positions of a checkpoint, each handed out once."""

    def __init__(self, tasks: list[dict[str, Any]], loops: list[dict[str, Any]]) -> None:
        self.tasks: dict[Key, dict[str, Any]] = {}
        self.loops: dict[Key, tuple[int, bool]] = {}
        self.positions = len(tasks) + len(loops)
        self.outermost: Address | None = None  # the scope that was open at the save, and no other around it
        try:
            for task in tasks:
                address = Address(**task["address"])
                position = Position(address, dict(task["own"]))
                entry = {
                    "address": address,
                    "open": bool(task["open"]),
                    "scoped": bool(task["scoped"]),
                    "levels": [{str(n): int(c) for n, c in level.items()} for level in task["levels"]],
                    "loaders": {str(name): decode(state) for name, state in task["loaders"].items()},
                }
                self.tasks[position.key] = entry
            for loop in loops:
                key = key_of({**loop["coordinates"], "": str(loop["name"])})
                self.loops[key] = int(loop["start"]), bool(loop["begun"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StateError(f"the checkpoint's part 'position' is damaged: {error!r}") from error

    def loop(self, name: str, coordinates: Mapping[str, Value]) -> tuple[int, bool] | None:
        """Return at which epoch a loop goes on and whether that one has begun; None if it is not held or was taken."""
        return self.loops.get(key_of({**coordinates, "": name}))

    def has_task(self, address: Address, own: Mapping[str, Value]) -> bool:
        """Whether the checkpoint holds this task, and it was not taken yet."""
        return task_key(address, own) in self.tasks

    def unused(self, name: str, value: int) -> Address | None:
        """Return the address that the checkpoint stood inside of in an epoch, if no scope has taken it up."""
        left = [one["address"] for one in self.tasks.values() if one["open"]]
        taken = self.outermost is None or self.outermost not in left or self.outermost.get(name) != value
        return None if taken else self.outermost

    def take_loop(self, name: str, coordinates: dict[str, Value]) -> int:
        """Return the epoch at which a loop begins; 0 unless the checkpoint holds this loop."""
        return self.loops.pop(key_of({**coordinates, "": name}), (0, False))[0]

    def take_task(self, position: Position) -> list[dict[str, Any]]:
        """Return how far the loops of a scope had come; empty unless the checkpoint stopped inside this very scope."""
        saved = self.tasks.pop(position.key, None)
        if saved is None:
            return []
        before, now = saved["address"].get("epoch"), position.address.get("epoch")
        if saved["address"] == position.address and (saved["open"] or saved["levels"]):
            position.loader_states = saved["loaders"]
            return list(saved["levels"])
        position.earlier = dict(saved["loaders"])
        following = isinstance(before, int) and isinstance(now, int) and now == before + 1
        again = now == before and (saved["open"] or not saved["scoped"])
        ahead = isinstance(before, int) and isinstance(now, int) and now > before and not saved["open"]
        if not (following or again or ahead):
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


_AT_START = "this checkpoint resumes at the start of epoch {}."
_STEPS = "Iterate with rs.steps(loader)."


def _earlier(now: Value | None, before: Value | None) -> bool:
    return isinstance(now, int) and isinstance(before, int) and now <= before


def _first(levels: list[dict[str, Any]]) -> Any:
    done = next(iter(levels[0].values()), 0) if levels else 0
    return max(done, ~done)
