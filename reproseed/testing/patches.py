"""Attributes put aside for a while and put back exactly."""

from __future__ import annotations

import contextlib
from typing import Any

_MISSING = object()


class Patches:
    """Attributes that were replaced, and what stood there.

    What somebody else has replaced in the meantime is left to him.
    """

    def __init__(self) -> None:
        self._done: list[tuple[Any, str, Any, Any]] = []

    def replace(self, owner: Any, name: str, new: Any) -> None:
        """Put a new value in the place of an attribute that the owner itself holds."""
        self._done.append((owner, name, vars(owner).get(name, _MISSING), new))
        setattr(owner, name, new)

    def undo(self) -> None:
        """Put everything back, last first."""
        for owner, name, old, new in reversed(self._done):
            if vars(owner).get(name, _MISSING) is not new:
                continue
            if old is _MISSING:
                with contextlib.suppress(AttributeError):
                    delattr(owner, name)
            else:
                setattr(owner, name, old)
        self._done.clear()
