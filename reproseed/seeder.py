"""`Seeder`: one run. Master seed, rank, sources, position, and the checkpoint of all of it."""

from __future__ import annotations

import logging
import platform
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar, overload

from reproseed import stack
from reproseed.address import Address, Value, check_names, check_value, sorted_address
from reproseed.entering import give_back
from reproseed.epoch_loop import Epochs
from reproseed.errors import (
    CoordinateTypeError,
    RepeatedAddressWarning,
    ResumeWarning,
    warn,
)
from reproseed.generators import Generators
from reproseed.progress import Progress
from reproseed.ranks import ALONE, Place
from reproseed.resume import Resuming
from reproseed.scopes import PARAMETERS, Preserved, Seeded, make_seeded
from reproseed.snapshots import Snapshot
from reproseed.state import FORMAT, from_json, seal, to_json
from reproseed.steps import Steps
from reproseed.streams import Stream

T = TypeVar("T")
_log = logging.getLogger("reproseed")


class Seeder(Generators):
    """The seeder of one run. `reproseed.init` makes one and puts it in place; making one by hand touches nothing.

    Its methods are those of the module, bound to this run.

    Args:
        master_seed: in ``[0, 2**64)``.
        drawn: whether it was drawn, not chosen: such a seed gives way to a checkpoint's.
        place: rank and world size.
        coordinates: what tells this rank's streams from the others'; ``{"rank": rank}`` by default.
        task_seeds: master seeds of single tasks.
        distinct_devices: give each device index its own stream.
        derivation: version of the derivation.
        seeding: False makes every scope pass through and seed nothing.
    """

    def __init__(
        self,
        master_seed: int,
        *,
        drawn: bool = False,
        place: Place = ALONE,
        coordinates: Mapping[str, Value] | None = None,
        task_seeds: Mapping[Value, int] | None = None,
        distinct_devices: bool = False,
        derivation: int = 1,
        seeding: bool = True,
    ) -> None:
        super().__init__(
            master_seed,
            drawn=drawn,
            coordinates={"rank": place.rank} if coordinates is None else coordinates,
            task_seeds=task_seeds,
            distinct_devices=distinct_devices,
            derivation=derivation,
            seeding=seeding,
        )
        self.place = place
        self.progress = Progress()
        self._default_task: str | None = None
        self.pending: Resuming | None = None

    # --- what a user calls ---------------------------------------------------------------------------------------

    def get_master_seed(self) -> int:
        """Return the master seed, in ``[0, 2**64)``."""
        return self.master_seed

    def reseed(
        self,
        task: Any,
        epoch: Any = 0,
        *,
        step: Any = None,
        shared: bool = False,
        **coordinates: Any,
    ) -> None:
        """Put all generators at (task, epoch), for good; see `reproseed.reseed`."""
        own: dict[str, Value] = {}
        if coordinates:
            check_names(coordinates, PARAMETERS, "reseed()")
            own = {name: check_value(name, value) for name, value in coordinates.items()}
        given = {"task": check_value("task", task), "epoch": check_value("epoch", epoch), **own}
        if step is not None:
            given["step"] = check_value("step", step)
        address = sorted_address(given)
        with stack.lock():
            self._reseed(address, own, shared)

    def _reseed(self, address: Address, own: dict[str, Value], shared: bool) -> None:
        self.refuse_capture(address)
        stack.admit(address)
        if self.pending is not None:
            self.arrive_at(address, own)
        entry = stack.innermost()
        sources = self.sources()
        # The libraries' own generators take any seed; only a user's or a device's can fail half-way.
        before = Snapshot(sources) if self.registry.has_registered else None
        try:
            self.seed(sources, address, shared, None)
        except BaseException:
            if before is not None:
                give_back(self, before, entry)
            raise
        if entry is None:
            self.stand_at(address, shared, None)
        else:
            entry.address = address
        self.progress.reseed(address, own)

    def seeded(self, *args: Any, **keywords: Any) -> Seeded:
        """Return a scope of this run; see `reproseed.seeded`."""
        refuse_positional("seeded", args)
        names = {name: keywords.pop(name) for name in PARAMETERS if name in keywords}
        return make_seeded(self.itself, "seeded()", keywords, **names)

    def preserved(self, check: Literal["error", "warn"] | None = None) -> Preserved:
        """Return a scope that seeds nothing and gives everything back; see `reproseed.preserved`."""
        return Preserved(self.itself, check)

    def epochs(self, n: int, name: str = "epoch", **coordinates: Any) -> Epochs:
        """Iterate over the epochs that are left; see `reproseed.epochs`."""
        return Epochs(self, n, name, coordinates)

    @overload
    def steps(self, iterable: int, name: str = "step") -> Steps[int]: ...
    @overload
    def steps(self, iterable: Iterable[T], name: str = "step") -> Steps[T]: ...
    def steps(self, iterable: Iterable[Any] | int, name: str = "step") -> Steps[Any]:
        """Iterate over steps in the innermost scope; see `reproseed.steps`."""
        return Steps(stack.innermost(), iterable, name)

    def stream(self, name: str, *, shared: bool = False, **coordinates: Any) -> Stream:
        """Return a stream to draw from; see `reproseed.stream`."""
        check_names(coordinates, (*PARAMETERS, "shared"), "stream()")
        around = stack.known_innermost()  # a scope of another thread must not show through here
        master_seed = around.master_seed if around is not None and around.seeder is self else None
        return self.named_stream(name, Address(**coordinates), shared, master_seed)

    def snapshot(self) -> Snapshot:
        """Return the states of all sources."""
        return Snapshot(self.sources(always=True))

    def state_dict(self, resume: Literal["next", "same"] = "next") -> dict[str, Any]:
        """Return the checkpoint of this rank; see `reproseed.state_dict`."""
        if resume not in ("next", "same"):
            raise CoordinateTypeError(f"state_dict(resume={resume!r}): allowed are 'next' and 'same'.")
        for doubt in self.progress.doubts():
            warn(doubt, ResumeWarning)
        if self.pending is not None and not self.pending.arrived:
            warn(
                "The run was begun with resume=, and the loop over epochs or the scope in which that checkpoint was "
                "saved has not been entered since: its generators' states are not in place. Without scopes, call "
                "load_state_dict(state) after the set-up code.",
                ResumeWarning,
            )
        position = self.progress.plain(resume)
        return seal(
            {
                "format": FORMAT,
                "derivation": self.derivation,
                "master_seed": self.master_seed,
                "drawn": int(self.drawn),
                "rank": self.place.rank,
                "world_size": self.place.world_size,
                "coordinates": dict(self.coordinates),
                "task_seeds": {f"{type(task).__name__}:{task}": seed for task, seed in self.task_seeds.items()},
                "position": position,
                "versions": versions(),
                "snapshot": self.snapshot().to_plain(),
                "scopes": [
                    {
                        "start": dict(entry.start),
                        "address": dict(entry.address),
                        "put_back": {} if entry.target is None else entry.target.to_plain(),
                    }
                    for entry in stack.entries()
                ],
            }
        )

    def load_state_dict(self, state: Mapping[str, Any] | str, strict: bool = True) -> None:
        """Go to where a checkpoint stopped; see `reproseed.load_state_dict`."""
        Resuming(self, state, strict).apply(at_once=True)

    def resume(self, state: Mapping[str, Any] | str) -> None:
        """Take master seed and position of a checkpoint, and its generators' states once the position is reached."""
        Resuming(self, state, strict=True).apply(at_once=False)

    def to_json(self, resume: Literal["next", "same"] = "next") -> str:
        """Return `state_dict` as JSON text."""
        return to_json(self.state_dict(resume))

    @staticmethod
    def from_json(text: str) -> dict[str, Any]:
        """Return the state dict that `to_json` wrote."""
        return from_json(text)

    # --- what scopes ask -----------------------------------------------------------------------------------------

    def itself(self, master_seed: int | None = None) -> Seeder:
        """Return this seeder: where a bound scope looks up whose it is."""
        return self

    def arrive_at(self, address: Address, own: Mapping[str, Value]) -> None:
        """Put the states of a checkpoint back if this is the scope, or the one after it, in which it was saved."""
        if self.pending is not None:
            self.pending.arrive_at(address, own)

    def arrive_in_loop(self, name: str, coordinates: Mapping[str, Value]) -> None:
        """Put the states of a checkpoint back if this is the loop over epochs in which it was saved."""
        if self.pending is not None:
            self.pending.arrive_in_loop(name, coordinates)

    def note_default_task(self, function: str, address: Address) -> None:
        """Warn if a second function enters the default task of `seeded_epoch` in this run."""
        if self._default_task in (None, function):
            self._default_task = function
        elif function not in self._warned:
            self._warned.add(function)
            one, other = (name.rsplit(".", 1)[-1] for name in (str(self._default_task), function))
            warn(
                f"{one} and {other} both use task={address['task']!r} and draw the same numbers; give {other} its "
                f"own task.",
                RepeatedAddressWarning,
            )

    def __repr__(self) -> str:
        return f"Seeder({self.master_seed}, rank {self.place.rank} of {self.place.world_size})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what the run is, without its generators: a child registers its own."""
        keywords = {
            "drawn": self.drawn,
            "place": self.place,
            "coordinates": self.coordinates,
            "task_seeds": self.task_seeds,
            "distinct_devices": self.registry.distinct,
            "derivation": self.derivation,
            "seeding": self.seeding,
        }
        return _rebuild, (self.master_seed, keywords)


def _rebuild(master_seed: int, keywords: dict[str, Any]) -> Seeder:
    return Seeder(master_seed, **keywords)


def refuse_positional(what: str, args: tuple[Any, ...]) -> None:
    """Raise for a positional argument, with what was probably meant."""
    if not args:
        return
    if callable(args[0]):
        raise CoordinateTypeError(f"@{what} needs parentheses and a task: write @{what}(task=...).")
    raise CoordinateTypeError(
        f"{what}() takes keywords: {what}(master_seed={args[0]!r}) for a seed, {what}(task={args[0]!r}) for a task."
    )


def versions() -> dict[str, str]:
    """Return the versions of what draws."""
    import numpy as np
    import torch

    import reproseed

    return {
        "reproseed": reproseed.__version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": str(np.__version__),
    }
