"""`Epochs`: the loop over epochs, which begins where a checkpoint stopped."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from reproseed.address import check_names, check_value, integer
from reproseed.errors import CoordinateTypeError, RepeatedAddressWarning, ResumeWarning, warn
from reproseed.loops import EpochLoop
from reproseed.progress import key_of
from reproseed.steps import TAKEN

if TYPE_CHECKING:
    from reproseed.seeder import Seeder

_log = logging.getLogger("reproseed")


class Epochs:
    """Iterates over the epochs that are left. Made by `reproseed.epochs`."""

    def __init__(self, seeder: Seeder, n: int, name: str, coordinates: dict[str, Any]) -> None:
        if not isinstance(name, str) or not name.isidentifier() or not name.isascii() or name in (*TAKEN, "step"):
            raise CoordinateTypeError(
                f"epochs(name={name!r}): a coordinate's name is wanted, such as 'epoch' or 'cycle'."
            )
        check_names(coordinates, ("epoch", "step", "task"), "epochs()")
        self._seeder = seeder
        self._n = integer("epochs", n)
        self._loop = EpochLoop(name, {key: check_value(key, value) for key, value in coordinates.items()})

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[int]:
        loop, progress = self._loop, self._seeder.progress
        self._seeder.arrive_in_loop(loop.name, loop.coordinates)
        resumed = progress.loaded.loop(loop.name, loop.coordinates) is not None
        start = progress.loaded.take_loop(loop.name, loop.coordinates)
        key = key_of({**loop.coordinates, "": loop.name})
        earlier = progress.loops.get(key)
        loop.again = earlier is not None and earlier.ever_entered and not resumed
        progress.loops[key] = loop
        loop.start = start
        if start:
            _log.info("the loop over %s begins at %d, where the checkpoint stopped", loop.name, start)
        loop.stand_before(start)
        for value in range(start, self._n):
            loop.stand_before(value)
            yield value
            if loop.unnamed is not None and not loop.ever_entered and value == start < self._n - 1:
                warn(
                    f"{loop.unnamed} does not name the {loop.name}: it draws the same numbers in all. Write "
                    f"rs.seeded(..., {loop.name}=...).",
                    RepeatedAddressWarning,
                )
            if value == start:
                self._warn_of_unused(value)
        loop.stand_before(max(start, self._n), running=False)

    def _warn_of_unused(self, value: int) -> None:
        address = self._seeder.progress.loaded.unused(self._loop.name, value)
        if address is not None:
            warn(
                f"The checkpoint stood inside {address}, which was not entered in {self._loop.name} {value}: what was "
                "left of it was not done. Was the task renamed?",
                ResumeWarning,
            )

    def __repr__(self) -> str:
        return f"<epochs({self._n}, name={self._loop.name!r})>"
