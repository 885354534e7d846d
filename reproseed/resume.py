"""Loading a checkpoint: everything is checked before anything is changed."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reproseed import stack
from reproseed.address import Address, Value
from reproseed.errors import ResumeWarning, StateError, StateMismatchError, warn
from reproseed.progress import Loaded
from reproseed.sources.accelerator import AcceleratorSource
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
        self.seeder = seeder
        self.strict = strict
        self.parts = unseal(state)
        self.loaded = Loaded(self.parts["position"].get("tasks", ()), self.parts["position"].get("epochs", ()))
        self.task_seeds = _task_seeds(self.parts["task_seeds"])
        self.same_rank = (
            self.parts["rank"] == seeder.place.rank
            and self.parts["world_size"] == seeder.place.world_size
            and self.parts["coordinates"] == seeder.coordinates
        )

    def apply(self) -> None:
        """Check, then load.

        Raises:
            StateError: damaged.
            StateMismatchError: of another run.
        """
        takes_seed = self._check_seed()
        self._check_derivation()
        states = self._states()
        if takes_seed:
            self.seeder.take_master_seed(self.parts["master_seed"], self.task_seeds)
        self.seeder.progress.loaded = self.loaded
        for name, value in states.items():
            source = self.seeder.registry.find(name)
            if isinstance(source, AcceleratorSource) and not source.active():
                self.seeder.waiting[name] = value
            elif source is not None:
                source.restore(value)
        _log.info(
            "resuming %s from a checkpoint of rank %s of %s",
            self.seeder,
            self.parts["rank"],
            self.parts["world_size"],
        )

    def _check_seed(self) -> bool:
        """Return whether the saved master seed replaces the present one."""
        saved, seeder = self.parts["master_seed"], self.seeder
        if saved == seeder.master_seed and self.task_seeds == seeder.task_seeds:
            return False
        if seeder.drawn and seeder.derived:
            raise StateMismatchError(
                f"The run's seed {seeder.master_seed} was drawn and replaced by the saved {saved}, but "
                f"{' and '.join(seeder.derived)} was already derived from {seeder.master_seed}. Load first: "
                'init(resume=state["rng"]).'
            )
        if seeder.drawn:
            return True
        if saved == seeder.master_seed:
            self._differ(
                f"Checkpoint has task seeds {self.task_seeds}, this run {seeder.task_seeds}: pass the saved "
                f"task_seeds, or "
                "start a new run."
            )
        else:
            self._differ(
                f"Checkpoint has master seed {saved}, this run {seeder.master_seed}: leave the seed out, pass "
                f"{saved}, or "
                "start a new run."
            )
        return False

    def _check_derivation(self) -> None:
        saved, present = self.parts["derivation"], self.seeder.derivation
        if saved != present:
            self._differ(f"Checkpoint has derivation {saved}, this run {present}: pass init(derivation={saved}).")

    def _states(self) -> dict[str, Any]:
        """Return the states to restore, by source; none where the streams are derived instead."""
        if not self.same_rank:
            _log.warning(
                "the checkpoint is of rank %s of %s, this is rank %s of %s: streams are derived, none is continued",
                self.parts["rank"], self.parts["world_size"], self.seeder.place.rank, self.seeder.place.world_size,
            )  # fmt: skip
        if self.parts["master_seed"] != self.seeder.master_seed and not self.seeder.drawn:
            return {}
        saved = self._continued()
        states, unknown = {}, []
        for name, plain in self.parts["snapshot"].items():
            source = self.seeder.registry.find(name)
            if source is None:
                unknown.append(name)
            elif self.same_rank and name in saved:
                states[name] = self._read(source, name, saved[name])
            del plain
        if unknown:
            self._differ(
                f"Checkpoint holds the state of {', '.join(unknown)}, which this run does not have: register the "
                f"generators "
                "under the same names before loading, or pass strict=False to go on without them."
            )
        missing = [s.name for s in self.seeder.registry if s.restorable and s.name not in self.parts["snapshot"]]
        if missing and self.same_rank:
            self._differ(
                f"Checkpoint has no state for {', '.join(missing)}: unregister them, or pass strict=False to leave "
                f"them on "
                "their derived streams."
            )
        return {name: value for name, value in states.items() if value is not None}

    def _continued(self) -> dict[str, Any]:
        """Return the saved states that the generators go on from, which depends on where the load stands.

        Outside all scopes: those that the saved outermost scope would have put back, else those at the save. In the
        scope in
        which the state was saved: those at the save. In another scope: none, its streams are derived.
        """
        inside = [Address(**address) for address in self.parts["inside"]]
        entry = stack.innermost()
        if entry is None:
            if inside and not self.parts["put_back"]:
                return {}
            return dict(self.parts["put_back"] or self.parts["snapshot"])
        if inside and inside[-1] == entry.address:
            return dict(self.parts["snapshot"])
        return {}

    def _read(self, source: Any, name: str, plain: Any) -> Any:
        if isinstance(source, AcceleratorSource):
            count = source.module.device_count() if hasattr(source.module, "device_count") else 1
            devices = plain.get("devices", []) if isinstance(plain, dict) else []
            if len(devices) > count:
                self._differ(
                    f"Checkpoint holds the states of {len(devices)} {source.device_type} devices, this process has "
                    f"{count}: "
                    "pass strict=False to leave the surplus aside."
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


def _task_seeds(plain: dict[str, int]) -> dict[Value, int]:
    seeds: dict[Value, int] = {}
    for key, seed in plain.items():
        kind, _, text = key.partition(":")
        seeds[int(text) if kind == "int" else text] = seed
    return seeds
