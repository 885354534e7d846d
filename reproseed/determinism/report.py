"""What is in force, as data: a flag that was set is not always a flag that acts."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any, Literal

from reproseed.determinism import environment, precision
from reproseed.determinism.flags import ABSENT, TABLE, WORKSPACE
from reproseed.determinism.request import deterministic
from reproseed.determinism.scope import Mode, wanted_now

InForce = Literal["yes", "no", "unknown"]


@dataclass(frozen=True)
class Setting:
    """One line of a report.

    Attributes:
        name: the flag, as in `TABLE`, or ``PYTHONHASHSEED``.
        wanted: the value asked for, or None if none is.
        current: the value that reads back; ``"absent"`` if this build of torch has no such flag.
        in_force: ``"yes"``, ``"no"`` or ``"unknown"``: whether what is wanted (or, where nothing is, what reads back)
            acts.
        why: the reason, in a sentence.
    """

    name: str
    wanted: Any
    current: Any
    in_force: InForce
    why: str


def report(mode: Mode | None = None) -> list[Setting]:
    """Return every flag: what is wanted of it, what it is, whether that acts, and why. Changes nothing.

    Args:
        mode: compare with what `deterministic` of this mode would set. By default, with what the open scopes and
            ``init(deterministic=...)`` have asked for.

    >>> with deterministic():
    ...     [s.in_force for s in report() if s.name == "deterministic_algorithms"]
    ['yes']
    """
    if mode is None:
        strictness, wanted = wanted_now()
    else:
        scope = deterministic(mode)
        scope._used = True  # it is asked, not entered
        strictness, wanted = mode, scope.wanted
    lines = [_setting(name, wanted.get(name), strictness) for name in TABLE]
    fixed, why = environment.hash_seed_in_force()
    value = os.environ.get(environment.HASH_SEED)
    lines.append(Setting(environment.HASH_SEED, None, value, _answer(fixed), f"{why}."))
    return lines


def _setting(name: str, wanted: Any, mode: str | None) -> Setting:
    flag = TABLE[name]
    current = flag.read()
    if name == WORKSPACE:
        return Setting(name, wanted, current, *_workspace(current))
    if current == ABSENT:
        loads = "inductor is not loaded." if name.startswith("inductor.") else "this build of torch has no such flag."
        return Setting(name, wanted, current, "unknown" if name.startswith("inductor.") else "no", loads)
    if wanted is not None and not _equal(name, wanted, current):
        return Setting(name, wanted, current, "no", f"it reads otherwise; it decides {flag.meaning}.")
    return Setting(name, wanted, current, *_acts(name, current, mode, flag.meaning))


def _equal(name: str, wanted: Any, current: Any) -> bool:
    if name == "fp32_precision":
        return precision.is_in_force(wanted)
    if isinstance(current, tuple) and isinstance(wanted, bool):
        return current == (wanted,) * len(current)
    return bool(wanted == current)


def _acts(name: str, current: Any, mode: str | None, meaning: str) -> tuple[InForce, str]:
    """Return whether a flag that reads as wanted acts, and why."""
    import torch

    if name.startswith("cudnn.") and not torch.backends.cudnn.is_available():  # type: ignore[no-untyped-call]  # torch's
        return "no", "cuDNN is not in this build of torch: there is nothing to act on."
    if name.startswith("mkldnn.") and not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]  # torch's
        return "no", "oneDNN is not in this build of torch: there is nothing to act on."
    if name.startswith(("cuda.", "sdp.cudnn")) and torch.version.cuda is None and torch.version.hip is None:
        return "no", "CUDA is not in this build of torch: there is nothing to act on."
    if name == "inductor.deterministic" and _has_compiled():
        return "unknown", "something was compiled before: compiled code keeps the flags of its time."
    if name == "sdp.efficient" and current and mode == "warn":
        return "yes", 'its backward is not deterministic in mode "warn": deterministic("warn", attention="math").'
    if name == "fill_uninitialized_memory" and current and not torch.are_deterministic_algorithms_enabled():
        return "no", "it acts only while deterministic algorithms are on."
    if name == "deterministic_algorithms" and current == (True, True):
        return "yes", "an operation without a deterministic form warns, and runs."
    return "yes", f"it decides {meaning}."


def _workspace(current: str | None) -> tuple[InForce, str]:
    import torch

    if not environment.uses_cublas():
        return "no", "this build of torch has no cuBLAS: nothing reads it."
    problem = environment.workspace_problem()
    if problem is not None:
        return "no", problem
    if current is None:
        return "no", f"it is not set: cuBLAS may split sums differently. Set {WORKSPACE}={environment.WORKSPACES[0]}."
    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]  # torch's
        return "yes", "CUDA is not initialised yet: cuBLAS will read it."
    if environment.was_set_at_start(WORKSPACE):
        return "yes", "the process was started with it."
    return "unknown", "it was set in the running process, and CUDA is initialised: cuBLAS may have come first."


def _has_compiled() -> bool:
    utils = sys.modules.get("torch._dynamo.utils")
    counters: Any = getattr(utils, "counters", None)
    return bool(counters and counters["stats"].get("unique_graphs"))


def _answer(fixed: bool | None) -> InForce:
    return "unknown" if fixed is None else "yes" if fixed else "no"
