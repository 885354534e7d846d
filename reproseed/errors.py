"""Every error and warning of the library, and the one way to warn.

    ReproseedError
    ├── CoordinateTypeError (TypeError)      a coordinate or argument of the wrong kind or name
    ├── CoordinateValueError (ValueError)    a coordinate out of its range
    ├── SeedRangeError (ValueError)          a master seed outside [0, 2**64)
    ├── NotInitializedError (RuntimeError)   a call that needs a run, before init()
    ├── ScopeError (RuntimeError)            a scope, or an iteration over steps, used in a way it cannot work
    │   ├── ConcurrentScopeError             ... while other running code holds the generators
    │   ├── CaptureError                     ... while a device graph is being captured
    │   └── UnexpectedDrawError              a generator moved in a section that must not draw
    ├── DecorationError (TypeError)          something that cannot be decorated
    ├── SourceError (TypeError)              something that cannot be registered as a generator
    ├── RankError (RuntimeError)             ranks that cannot be found or do not agree
    ├── DeterminismError (RuntimeError)      determinism was asked for and cannot be had
    ├── StraySeedingError (RuntimeError)     a generator was seeded behind the run's back
    └── StateError (ValueError)              a checkpoint that is damaged
        └── StateMismatchError               ... or belongs to another run

    ReproseedWarning (UserWarning)
    ├── DeterminismWarning       a flag that comes too late, or that this build of torch lacks
    ├── NarrowSeedWarning        torch's CPU generator gets 64 seed bits instead of a whole state
    ├── NotRestorableWarning     a generator that can be seeded but not put back
    ├── RankWarning              an argument about ranks that the launcher contradicts
    ├── RepeatedAddressWarning   one address entered so often that its draws repeat
    ├── ResumeWarning            a run that does not continue where its checkpoint says
    ├── StraySeedingWarning      a generator was seeded behind the run's back
    ├── ScopeOrderWarning        scopes closed in another order than last in, first out
    └── UnenteredScopeWarning    a scope that was made and never entered

Depends on nothing, so that every module may import it.
"""

from __future__ import annotations

import functools
import os
import sys
import warnings

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
# Frames of these files stand between our code and the caller's when a scope is a decorator or sits in an ExitStack.
_THROUGH = (os.sep + "wrapt" + os.sep, os.sep + "contextlib.py", os.sep + "functools.py")


class ReproseedError(Exception):
    """Base of all errors that the library raises by itself."""


class CoordinateTypeError(ReproseedError, TypeError):
    """A coordinate or argument has the wrong type, or a name that is not allowed."""


class CoordinateValueError(ReproseedError, ValueError):
    """A coordinate lies outside the values allowed for it."""


class SeedRangeError(ReproseedError, ValueError):
    """A master seed lies outside ``[0, 2**64)``."""


class NotInitializedError(ReproseedError, RuntimeError):
    """A call needs a run, and neither ``init`` nor an enclosing scope gives one."""


class ScopeError(ReproseedError, RuntimeError):
    """A scope or an iteration over steps is used in a way that cannot work."""


class ConcurrentScopeError(ScopeError):
    """A scope was entered while other running code holds the process's generators."""


class CaptureError(ScopeError):
    """A scope was entered while a device graph is being captured."""


class UnexpectedDrawError(ScopeError):
    """A generator moved inside ``preserved(check="error")``."""


class DecorationError(ReproseedError, TypeError):
    """A scope cannot decorate this object; the message gives the reason."""


class SourceError(ReproseedError, TypeError):
    """An object cannot be registered as a generator; the message gives the reason."""


class RankError(ReproseedError, RuntimeError):
    """Rank or world size cannot be found, or the ranks do not agree on the run."""


class DeterminismError(ReproseedError, RuntimeError):
    """Determinism was asked for and cannot be had any more; the message says what came too late."""


class StraySeedingError(ReproseedError, RuntimeError):
    """Inside ``watch_seeding("error")``: a generator was seeded by something else than the library."""


class StateError(ReproseedError, ValueError):
    """A checkpoint of the library is damaged or incomplete; the message names the part."""


class StateMismatchError(StateError):
    """A checkpoint belongs to another run than the present one."""


class ReproseedWarning(UserWarning):
    """Base of all warnings of the library."""


class DeterminismWarning(ReproseedWarning):
    """A flag was asked for that comes too late, or that this build of torch does not have."""


class NarrowSeedWarning(ReproseedWarning):
    """torch's CPU generator is seeded with 64 bits because its state has an unknown layout."""


class NotRestorableWarning(ReproseedWarning):
    """A registered generator can be seeded but not put back as it was."""


class RankWarning(ReproseedWarning):
    """An argument about ranks is contradicted by the launcher or the process group."""


class RepeatedAddressWarning(ReproseedWarning):
    """One address was entered so often inside one scope that its draws repeat."""


class ResumeWarning(ReproseedWarning):
    """The run does not continue where its checkpoint says it stopped."""


class ScopeOrderWarning(ReproseedWarning):
    """Scopes were closed in another order than last in, first out."""


class StraySeedingWarning(ReproseedWarning):
    """A generator was seeded by something else than the library while `watch_seeding` was on."""


class UnenteredScopeWarning(ReproseedWarning):
    """A scope was made and thrown away without being entered."""


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning that points at the line of the user's code that led here."""
    level = 1
    frame = sys._getframe(0)
    while _inside(frame.f_code.co_filename) and frame.f_back is not None:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def calling_line() -> tuple[str, int]:
    """Return file and line of the user's code that led here."""
    frame = sys._getframe(0)
    while _inside(frame.f_code.co_filename) and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


# torch.compile cannot trace frames: it runs this as it is.
calling_line._torchdynamo_disable = True  # type: ignore[attr-defined]  # dynamo's mark on a function


@functools.cache
def _inside(name: str) -> bool:
    """Whether a file belongs to the library, or to what stands between it and the caller."""
    return name.startswith(_PACKAGE) or any(part in name for part in _THROUGH)
