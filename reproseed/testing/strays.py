"""One finding of `watch_seeding`, and how it reads."""

from __future__ import annotations

import os
import sysconfig
import types
from dataclasses import dataclass
from typing import Any

_INSTALLED = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "purelib", "platlib")})


@dataclass(frozen=True)
class Stray:
    """One seeding that was not the run's.

    Attributes:
        what: the generator, ``"torch"``, ``"numpy"`` or ``"python"``, or the function called.
        library: the top-level module that did it, ``"__main__"`` for the script; ``"unknown"`` where only the state
            shows it.
        file: where it was called, or empty.
        line: likewise, or 0.
        message: the whole sentence.
    """

    what: str
    library: str
    file: str
    line: int
    message: str


def seen_by_state(name: str, owner: str, seed: int) -> Stray:
    """Return the finding of a state that was seeded while nobody saw it."""
    message = (
        f"{owner} was seeded with {seed} behind the run's back, or its state replaced, by a call that cannot be seen: "
        "a method of the generator, or a function imported by name before the watch began. Remove it, or begin to "
        "watch before the import."
    )
    return Stray(name, "unknown", "", 0, message)


def called_by(shown: str, args: tuple[Any, ...], kwargs: dict[str, Any], caller: types.FrameType) -> Stray:
    """Return the finding of a seed function called from a frame; names the user's line too if a library did it."""
    library = _library(caller)
    file, line = caller.f_code.co_filename, caller.f_lineno
    given = ", ".join([*(repr(a)[:40] for a in args), *(f"{name}={value!r}"[:40] for name, value in kwargs.items())])
    user: types.FrameType | None = caller
    while user is not None and (_library(user) == library or _is_installed(user)):
        user = user.f_back
    through = (
        "" if user is None or library == "__main__" else f", called from {user.f_code.co_filename}:{user.f_lineno}"
    )
    who = "the script" if library == "__main__" else library
    message = (
        f"{who} called {shown}({given}) at {file}:{line}{through}: it seeds behind the run's back, and all draws that "
        "follow repeat. Remove it, or wrap the call in `with rs.preserved():`."
    )
    return Stray(shown, library, file, line, message)


def _is_installed(frame: types.FrameType) -> bool:
    return frame.f_code.co_filename.startswith((*_INSTALLED, "<frozen"))


def _library(frame: types.FrameType) -> str:
    return str(frame.f_globals.get("__name__", "unknown")).partition(".")[0]
