"""CuPy's legacy generators (``cupy.random.*``), one a device, on cuRAND.

cuRAND gives no access to its state: they can be seeded, not read, so a scope that gives its streams back seeds them
again for the enclosing address. Only generators that this process made are touched: making one would initialise the
device, and one that a forked child inherits cannot be used there. A ``cupy.random.Generator`` is an object of the
user's own, to be made from a stream. An entry point of the group ``reproseed.sources``, asked for once ``cupy`` has
been imported.
"""

from __future__ import annotations

import os
from typing import Any

from reproseed.sources.protocol import Plain
from reproseed.streams import Stream

_BITS = 32
"""What every version of CuPy takes as a seed."""


class CupySource:
    """The legacy generators of all devices that have one."""

    name = label = "cupy"
    shared = False
    restorable = False

    def active(self) -> bool:
        """Whether this process has made a generator."""
        return bool(_states())

    def seed(self, stream: Stream) -> None:
        """Seed each device's generator with 32 bits, all alike."""
        import cupy  # type: ignore[import-not-found, import-untyped, unused-ignore]  # an optional library

        for device, generator in list(_states().items()):
            with cupy.cuda.Device(device):
                generator.seed(stream.seed(_BITS))

    def snapshot(self) -> None:
        """Return nothing: the state cannot be read."""

    def restore(self, state: None) -> None:
        """Do nothing: it is seeded again instead."""

    def to_plain(self, state: None) -> Plain:
        """Return nothing."""
        return {}

    def from_plain(self, plain: Plain) -> None:
        """Return nothing."""


def _states() -> dict[int, Any]:
    from cupy.random import _generator  # type: ignore[import-not-found, import-untyped, unused-ignore]  # an optional library

    return {device: state for device, state in _generator._random_states.items() if id(state) not in _INHERITED}


_INHERITED: set[int] = set()
"""The generators, by identity, that a fork has brought here."""


def _after_fork() -> None:
    _INHERITED.update(id(state) for state in _states().values())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
