"""reproseed: randomness as a function of where in a run it is drawn.

``with seeded(task="train", epoch=e):`` puts Python's, NumPy's, torch's and every device's generator on the stream
that belongs to that place in the run, and can put everything back. Importing the package imports neither torch nor
NumPy; they come at first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from reproseed.calls import (
    epochs,
    get_master_seed,
    load_state_dict,
    preserved,
    register_generator,
    reseed,
    seeded,
    seeded_epoch,
    snapshot,
    state_dict,
    steps,
    stream,
    unregister_generator,
)
from reproseed.determinism import deterministic
from reproseed.errors import (
    CaptureError,
    ConcurrentScopeError,
    CoordinateTypeError,
    CoordinateValueError,
    DecorationError,
    DeterminismError,
    DeterminismWarning,
    NarrowSeedWarning,
    NotInitializedError,
    NotRestorableWarning,
    RankError,
    RankWarning,
    RepeatedAddressWarning,
    ReproseedError,
    ReproseedWarning,
    ResumeWarning,
    ScopeError,
    ScopeOrderWarning,
    SeedRangeError,
    SourceError,
    StateError,
    StateMismatchError,
    StraySeedingError,
    StraySeedingWarning,
    UnenteredScopeWarning,
    UnexpectedDrawError,
)
from reproseed.run import init, is_initialized
from reproseed.scopes import arg, current
from reproseed.seeder import Seeder
from reproseed.snapshots import Snapshot
from reproseed.streams import Stream

if TYPE_CHECKING:
    from reproseed import data as data
    from reproseed import lint as lint
    from reproseed import sources as sources
    from reproseed import testing as testing
    from reproseed import trace as trace
    from reproseed import verify as verify

__version__ = "0.1.0.dev0"

__all__ = [
    "CaptureError",
    "ConcurrentScopeError",
    "CoordinateTypeError",
    "CoordinateValueError",
    "DecorationError",
    "DeterminismError",
    "DeterminismWarning",
    "NarrowSeedWarning",
    "NotInitializedError",
    "NotRestorableWarning",
    "RankError",
    "RankWarning",
    "RepeatedAddressWarning",
    "ReproseedError",
    "ReproseedWarning",
    "ResumeWarning",
    "ScopeError",
    "ScopeOrderWarning",
    "SeedRangeError",
    "Seeder",
    "Snapshot",
    "SourceError",
    "StateError",
    "StateMismatchError",
    "StraySeedingError",
    "StraySeedingWarning",
    "Stream",
    "UnenteredScopeWarning",
    "UnexpectedDrawError",
    "arg",
    "current",
    "deterministic",
    "epochs",
    "get_master_seed",
    "init",
    "is_initialized",
    "load_state_dict",
    "preserved",
    "register_generator",
    "reseed",
    "seeded",
    "seeded_epoch",
    "snapshot",
    "state_dict",
    "steps",
    "stream",
    "unregister_generator",
]

_SUBPACKAGES = ("data", "determinism", "doctor", "lint", "sources", "testing", "trace", "verify")

# What other libraries call it, and what to write here.
_ELSEWHERE = {
    "seed_everything": "rs.init(master_seed=...)",
    "set_seed": "rs.init(master_seed=...)",
    "manual_seed": "rs.reseed(task, epoch), or `with rs.seeded(master_seed=...):`",
    "fork_rng": "`with rs.preserved():`, or `with rs.seeded(..., restore=True):`",
}


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return importlib.import_module(f"reproseed.{name}")
    if name in _ELSEWHERE:
        raise AttributeError(f"reproseed has no {name!r}; write {_ELSEWHERE[name]}.")
    raise AttributeError(f"module 'reproseed' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBPACKAGES])
