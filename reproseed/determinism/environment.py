"""Settings that are read once, early: whether they still work, and what to do where they do not."""

from __future__ import annotations

import functools
import os
import sys

from reproseed.determinism.flags import WORKSPACE

WORKSPACES = (":4096:8", ":16:8")
"""The values of ``CUBLAS_WORKSPACE_CONFIG`` with which torch takes cuBLAS to be deterministic."""

HASH_SEED = "PYTHONHASHSEED"
_PROBE = "reproseed"


def uses_cublas() -> bool:
    """Whether this build of torch calls cuBLAS."""
    import torch

    return torch.version.cuda is not None


def workspace_problem() -> str | None:
    """Return why cuBLAS cannot be made deterministic now, and what to do; None where it can or is."""
    import torch

    value = os.environ.get(WORKSPACE)
    if value is not None and value not in WORKSPACES:
        return (
            f"{WORKSPACE}={value!r} is not a value with which cuBLAS is deterministic; allowed are "
            f"{' and '.join(WORKSPACES)}. Change or remove it where it is set."
        )
    if value is None and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]  # torch's, without annotation
        return (
            f"{WORKSPACE} is not set and CUDA is initialised: cuBLAS reads it once, so it is too late. Set it before "
            f"start, `{WORKSPACE}={WORKSPACES[0]} python ...`, or call init(deterministic=...) before the first use of "
            "CUDA. Where no cuBLAS is used, pass workspace=None."
        )
    return None


@functools.cache
def _initial_environment() -> dict[str, str] | None:
    """Return the environment that the process was started with, where the system tells it."""
    try:
        with open("/proc/self/environ", "rb") as file:
            pairs = [part.partition(b"=") for part in file.read().split(b"\0") if part]
    except OSError:
        return None
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def was_set_at_start(name: str) -> bool | None:
    """Whether a variable had its present value when the process started; None where that cannot be known."""
    initial = _initial_environment()
    return None if initial is None else initial.get(name) == os.environ.get(name)


def hash_seed_in_force() -> tuple[bool | None, str]:
    """Return whether the hashes of strings are the same in every process, and why.

    The interpreter reads ``PYTHONHASHSEED`` when it starts; whether the present value is the one it read shows by
    asking a new interpreter for a hash.
    """
    value = os.environ.get(HASH_SEED)
    if value in (None, "", "random"):
        if sys.flags.hash_randomization == 0:
            return True, f"this interpreter was started with {HASH_SEED}=0; its children will not be"
        return False, (
            f"{HASH_SEED} is not set, so the hashes of strings, and with them the order of sets, change from process "
            f"to process. Start with `{HASH_SEED}=0 python ...`, or sort what comes from a set"
        )
    same = _hashes_like_a_new_interpreter(value, hash(_PROBE))
    if same is None:
        return None, f"{HASH_SEED}={value}; whether this interpreter was started with it could not be found out"
    if same:
        return True, f"this interpreter was started with {HASH_SEED}={value}"
    return False, (
        f"{HASH_SEED}={value} was set in a running interpreter, which had read it at its start: it holds for children "
        f"only. Start with `{HASH_SEED}={value} python ...`"
    )


@functools.cache
def _hashes_like_a_new_interpreter(value: str, own: int) -> bool | None:
    import subprocess  # here, because the package's root imports this module

    command = [sys.executable, "-S", "-c", f"print(hash({_PROBE!r}))"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=20, check=True, env=os.environ | {HASH_SEED: value}
        )
        return int(done.stdout) == own
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
