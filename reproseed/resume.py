"""Loading a checkpoint: everything is checked before anything is changed.

Master seed and positions are taken at once. The generators' states are put back where the saved run stood: at once
by `load_state_dict`; after ``init(resume=...)`` when the loop over epochs or the scope is reached in which the
checkpoint was saved, so that set-up code draws on the base stream as it did in the first run.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from reproseed import stack
from reproseed.address import Address, Value
from reproseed.errors import CoordinateTypeError, ResumeWarning, StateError, StateMismatchError, warn
from reproseed.progress import Loaded
from reproseed.snapshots import Snapshot
from reproseed.sources.accelerator import AcceleratorSource
from reproseed.sources.objects import ObjectSource
from reproseed.sources.protocol import Source
from reproseed.state import unseal

if TYPE_CHECKING:
    from reproseed.seeder import Seeder

_log = logging.getLogger("reproseed")


class Resuming:
    """One checkpoint on its way into a seeder.

    Args:
        seeder: the present run.
        state: a state dict or its JSON.
        strict: raise where the run differs; else warn, and derive what cannot be continued.
    """

    def __init__(self, seeder: Seeder, state: Mapping[str, Any] | str, strict: bool) -> None:
        if type(strict) is not bool:
            raise CoordinateTypeError(f"load_state_dict(strict={strict!r}): True or False is wanted.")
        self.seeder = seeder
        self.strict = strict
        self.parts = unseal(state)
        self.loaded = Loaded(self.parts["position"].get("tasks", ()), self.parts["position"].get("epochs", ()))
        if self.parts["scopes"]:
            self.loaded.outermost = Address(**self.parts["scopes"][0]["start"])
        self.task_seeds = task_seeds_of(self.parts["task_seeds"])
        self.same_rank = (
            self.parts["rank"] == seeder.place.rank
            and self.parts["world_size"] == seeder.place.world_size
            and self.parts["coordinates"] == seeder.coordinates
        )

    def apply(self, at_once: bool) -> None:
        """Check, then load; a failure leaves all as it was.

        Args:
            at_once: put the generators' states back now, not when the saved position is reached.

        Raises:
            StateError: damaged.
            StateMismatchError: of another run.
        """
        seeder = self.seeder
        takes_seed = self._check_seed()
        same_streams = self._check_derivation() and (takes_seed or self._same_seeds())
        self.continues = same_streams and self.same_rank and seeder.seeding
        self._log_rank()
        states = self._states() if at_once else {}
        self.arrived = at_once
        elsewhere = len(stack.entries()) < len(self.parts["scopes"])

        def load() -> None:
            if takes_seed:
                seeder.take_master_seed(self.parts["master_seed"], self.task_seeds)
                seeder.drawn = bool(self.parts["drawn"])
            seeder.gives_way = False
            seeder.progress.loaded = self.loaded
            seeder.pending = self if elsewhere or not at_once else None
            self._put_back(states)

        self._all_or_nothing(load)
        saved_as = self.parts["rank"], self.parts["world_size"]
        _log.info("resuming %s from a checkpoint of rank %s of %s", seeder, *saved_as)

    def arrive_at(self, address: Address, own: Mapping[str, Value]) -> None:
        """Put the generators' states back if this scope is the one in which the checkpoint was saved, or follows it.

        Raises:
            StateMismatchError: a generator of the checkpoint is not registered, or the other way round.
        """
        scopes, depth = self.parts["scopes"], len(stack.entries())
        same = depth < len(scopes) and Address(**scopes[depth]["start"]) == address
        begins = not self.loaded.positions and "epoch" in address
        if same or (not self.arrived and (begins or self.loaded.has_task(address, own))):
            # The loop over epochs that the checkpoint stood in may be inside of this scope, and yet to come.
            innermost = same and depth + 1 == len(scopes) and not self.loaded.loops
            self._arrive(last=not scopes or innermost)

    def arrive_in_loop(self, name: str, coordinates: Mapping[str, Value]) -> None:
        """Put the generators' states back if the checkpoint was saved in this loop over epochs."""
        found = self.loaded.loop(name, coordinates)
        if found is None:
            if not self.arrived and not self.loaded.positions:
                self._arrive(last=True)
            return
        depth = len(stack.entries())
        inside = 0 < depth == len(self.parts["scopes"])
        if not self.arrived or inside:
            self._arrive(last=inside or not found[1])

    def _arrive(self, last: bool) -> None:
        states = self._states()
        self._all_or_nothing(lambda: self._put_back(states))
        self.arrived = True
        if last:
            self.seeder.pending = None

    def _all_or_nothing(self, load: Callable[[], None]) -> None:
        seeder = self.seeder
        before, fields = Snapshot(seeder.registry), dict(vars(seeder))
        fields["waiting"] = dict(seeder.waiting)
        loaded = seeder.progress.loaded
        try:
            load()
        except BaseException:
            vars(seeder).update(fields)
            seeder.progress.loaded = loaded
            before.restore()
            raise

    def _put_back(self, states: dict[str, Any]) -> None:
        for name, value in states.items():
            source = self.seeder.registry.find(name)
            if source is None or (isinstance(source, AcceleratorSource) and not source.active()):
                self.seeder.waiting[name] = value
            else:
                source.restore(value)

    def _same_seeds(self) -> bool:
        return bool(self.parts["master_seed"] == self.seeder.master_seed and self.task_seeds == self.seeder.task_seeds)

    def _check_seed(self) -> bool:
        """Return whether the saved master seed replaces the present one."""
        saved, seeder = self.parts["master_seed"], self.seeder
        if self._same_seeds():
            return False
        if saved == seeder.master_seed or (seeder.gives_way and seeder.task_seeds not in ({}, self.task_seeds)):
            self._differ(
                f"Checkpoint has task seeds {self.task_seeds}, this run {seeder.task_seeds}: pass the saved "
                "task_seeds, or start a new run."
            )
            return False
        if not seeder.gives_way:
            given = os.environ.get("REPROSEED_MASTER_SEED")
            out = f"unset REPROSEED_MASTER_SEED={given}" if given else "leave the seed out"
            self._differ(
                f"Checkpoint has master seed {saved}, this run {seeder.master_seed}: {out}, pass {saved}, or start a "
                "new run."
            )
            return False
        if seeder.derived:
            self._differ(
                f"The run's seed {seeder.master_seed} was drawn and replaced by the saved {saved}, but "
                f"{' and '.join(seeder.derived)} was already derived from {seeder.master_seed}. Load first: "
                'init(resume=state["rng"]).'
            )
            return False
        return True

    def _check_derivation(self) -> bool:
        saved, present = self.parts["derivation"], self.seeder.derivation
        if saved != present:
            self._differ(f"Checkpoint has derivation {saved}, this run {present}: pass init(derivation={saved}).")
        return bool(saved == present)

    def _log_rank(self) -> None:
        if not self.same_rank:
            saved, place = self.parts, self.seeder.place
            whose = f"rank {saved['rank']}" if saved["rank"] >= 0 else "no single rank"
            _log.warning(
                "the checkpoint is of %s of %s, this is rank %s of %s: streams are derived, none is continued",
                whose, saved["world_size"], place.rank, place.world_size,
            )  # fmt: skip

    def _states(self) -> dict[str, Any]:
        """Return the states to restore, by source; none where the streams are derived instead."""
        if not self.continues:
            return {}
        registry, saved = self.seeder.registry, self._continued()
        present = list(registry)
        known = {name: registry.find(name) for name in self.parts["snapshot"]}
        self._check_sources([name for name, source in known.items() if source is None], present)
        return {
            name: self._read(source, name, saved[name])
            for name, source in known.items()
            if source is not None and name in saved
        }

    def _check_sources(self, unknown: list[str], present: list[Source]) -> None:
        devices = [name for name in unknown if name.startswith("torch.")]
        objects = [name for name in unknown if name not in devices]
        if devices:
            self._differ(
                f"Checkpoint holds the states of {', '.join(devices)}, which this process does not have: run on the "
                "same kind of device, or pass strict=False to derive its streams."
            )
        if objects:
            self._differ(
                f"Checkpoint holds the state of {', '.join(objects)}, which this run does not have: register the "
                "generators under the same names before the first scope, or pass strict=False to go on without them."
            )
        missing = [
            source.name
            for source in present
            if isinstance(source, ObjectSource) and source.restorable and source.name not in self.parts["snapshot"]
        ]
        if missing:
            self._differ(
                f"Checkpoint has no state for {', '.join(missing)}: unregister them, or pass strict=False to leave "
                "them on their derived streams."
            )

    def _continued(self) -> dict[str, Any]:
        """Return the saved states that the generators go on from, which depends on where the load stands.

        Inside the same scopes as the save: those at the save. Outside some of them: those that the outermost of the
        scopes that are yet to be entered would have put back. In another scope, or where it would have put back
        nothing: none, the streams are derived.
        """
        scopes = self.parts["scopes"]
        here = [entry.address for entry in stack.entries()]
        if here != [Address(**scope["address"]) for scope in scopes[: len(here)]]:
            return {}
        return dict(self.parts["snapshot"] if len(here) == len(scopes) else scopes[len(here)]["put_back"])

    def _read(self, source: Any, name: str, plain: Any) -> Any:
        if isinstance(source, AcceleratorSource):
            count = source.module.device_count() if hasattr(source.module, "device_count") else 1
            devices = plain.get("devices", []) if isinstance(plain, dict) else []
            if len(devices) > count:
                self._differ(
                    f"Checkpoint holds the states of {len(devices)} {source.device_type} devices, this process has "
                    f"{count}: pass strict=False to leave the surplus aside."
                )
            if not source.active():
                return plain
        try:
            return source.from_plain(plain)
        except (StateError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise StateError(f"the checkpoint's state of {name!r} cannot be used: {error}") from error

    def _differ(self, message: str) -> None:
        if self.strict:
            raise StateMismatchError(message)
        warn(message + " Going on with derived streams (strict=False).", ResumeWarning)


def task_seeds_of(plain: Mapping[str, int]) -> dict[Value, int]:
    """Read the master seeds of single tasks, whose names a checkpoint keeps with their type."""
    seeds: dict[Value, int] = {}
    for key, seed in plain.items():
        kind, _, text = key.partition(":")
        seeds[int(text) if kind == "int" else text] = seed
    return seeds
