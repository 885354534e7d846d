"""The process's current run: how it begins, and who asks for it.

The current seeder is looked up when a function is called, so that a decorated function belongs to whatever run there
is then.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from reproseed import stack
from reproseed.address import check_value
from reproseed.derivation import check_derivation, check_master_seed
from reproseed.errors import CoordinateTypeError, NotInitializedError, ScopeOrderWarning, warn
from reproseed.ranks import agree_on, coordinates_of, find_place
from reproseed.resume import task_seeds_of
from reproseed.seeder import Seeder
from reproseed.state import unseal

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh

    from reproseed.determinism import Deterministic

_log = logging.getLogger("reproseed")

_current: Seeder | None = None
_parents: Seeder | None = None
_runs = 0


def init(
    master_seed: Any = None,
    ngpus: int | None = None,
    local_rank: int | None = None,
    *,
    rank: int | None = None,
    world_size: int | None = None,
    coordinates: dict[str, Any] | None = None,
    mesh: DeviceMesh | None = None,
    axes: str | tuple[str, ...] | None = None,
    task_seeds: Mapping[Any, int] | None = None,
    devices: Literal["same", "distinct"] = "same",
    deterministic: Literal["error", "warn", "off"] | Deterministic | None = None,
    derivation: int = 1,
    resume: Mapping[str, Any] | str | None = None,
    **unknown: Any,
) -> Seeder:
    """Begin a run: find the ranks, agree on the master seed, and put all generators on the base stream.

    The base stream has no rank, so that weights and splits made in set-up code are equal on all ranks. Calling it again
    begins a new run, as a notebook does.

    Args:
        master_seed: the run's seed in ``[0, 2**64)``. None takes ``REPROSEED_MASTER_SEED``, then the checkpoint's, else
            draws one of 63 bits from the operating system, the same on all ranks.
        ngpus: fwr13y's name for the number of ranks; used where nothing better is known.
        local_rank: fwr13y's name for the rank; where the global rank is known, that is used.
        rank: global rank. By default from ``torch.distributed``, torchrun's ``RANK``, SLURM's or OpenMPI's variables,
            else 0.
        world_size: number of ranks, found likewise.
        coordinates: such as ``{"dp": 1}``: addresses hold these instead of the rank, so that ranks that share them
            share their streams.
        mesh: a ``DeviceMesh`` to read the coordinates from.
        axes: the mesh dimensions to take, such as ``("dp",)``.
        task_seeds: master seeds of single tasks, such as ``{"init": 7}``.
        devices: ``"same"``: all devices of this process get the same stream; ``"distinct"``: each index its own.
        deterministic: set the flags of `reproseed.deterministic` for the whole run: its mode, or such a scope itself,
            not entered. The next ``init`` puts them back.
        derivation: version of the derivation, frozen for ever.
        resume: a checkpoint to go on from: a `state_dict` or its JSON.
        **unknown: refused, with the right spelling where one is near.

    Returns:
        The run's seeder, which is current from now on.

    Raises:
        SeedRangeError: the master seed is out of range.
        RankError: ranks that contradict each other, or a drawn seed that cannot be shared.
        StateError: the checkpoint is damaged.
        StateMismatchError: the checkpoint is of another run.
        DeterminismError: determinism was asked for too late.

    >>> import reproseed as rs
    >>> rs.init(master_seed=42).get_master_seed()
    42
    """
    global _current, _runs
    _refuse_unknown(unknown)
    if devices not in ("same", "distinct"):
        raise CoordinateTypeError(f"init(devices={devices!r}): allowed are 'same' and 'distinct'.")
    chosen = None if master_seed is None else check_master_seed(master_seed)
    chosen = _seed_from_environment() if chosen is None else chosen
    saved = None if resume is None else unseal(resume)
    if task_seeds is not None and not isinstance(task_seeds, Mapping):
        raise CoordinateTypeError(f"task_seeds={task_seeds!r} must be a dict of master seeds such as {{'init': 7}}.")
    seeds = _task_seeds_from_environment() if task_seeds is None else dict(task_seeds)
    if not seeds and saved is not None and task_seeds is None:
        seeds = task_seeds_of(saved["task_seeds"])
    place = find_place(rank, world_size, ngpus, local_rank)
    seeding = os.environ.get("REPROSEED_SEEDING", "on")
    if seeding not in ("on", "off"):
        raise CoordinateTypeError(f"REPROSEED_SEEDING={seeding!r}: allowed are 'on' and 'off'.")
    if chosen is None and saved is not None and seeding == "on":
        chosen, was_drawn = saved["master_seed"], bool(saved["drawn"])
        agreed, _ = agree_on(chosen, check_derivation(derivation), place, _runs)
        drawn = was_drawn
    else:
        agreed, drawn = agree_on(chosen, check_derivation(derivation), place, _runs)
    seeder = Seeder(
        agreed,
        drawn=drawn,
        place=place,
        coordinates=coordinates_of(place, coordinates, mesh, axes),
        task_seeds=seeds,
        distinct_devices=devices == "distinct",
        derivation=derivation,
        seeding=seeding == "on",
    )
    watch = os.environ.get("REPROSEED_WATCH")
    if watch not in (None, "", "warn", "error"):
        raise CoordinateTypeError(f"REPROSEED_WATCH={watch!r}: allowed are 'warn' and 'error'.")
    with _flags_of_run(deterministic):
        _begin(seeder, resume)
    if watch:
        _watch(watch)
    return seeder


def _flags_of_run(
    deterministic: Literal["error", "warn", "off"] | Deterministic | None,
) -> contextlib.AbstractContextManager[None]:
    """Return the block in which a run begins that has these flags."""
    # Imported here: flags, like the watch below, are a layer above the run, which works without them.
    from reproseed import determinism

    scope = determinism.deterministic(deterministic) if isinstance(deterministic, str) else deterministic
    if scope is not None and not isinstance(scope, determinism.Deterministic):
        raise CoordinateTypeError(
            f"init(deterministic={scope!r}): allowed are 'error', 'warn', 'off', and rs.deterministic(...) itself."
        )
    return determinism.for_whole_run(scope)


def _watch(mode: str) -> None:
    """Watch for stray seeding from now on, as ``REPROSEED_WATCH`` asks."""
    from reproseed.testing import watch_whole_run

    if watch_whole_run(mode):
        _log.info("stray seeding is watched for, mode %s, as REPROSEED_WATCH asks", mode)


def _begin(seeder: Seeder, resume: Mapping[str, Any] | str | None) -> None:
    global _current, _runs
    left = [entry for entry in stack.entries() if not entry.inherited]
    if left:
        warn(
            f"init() while {', '.join(str(entry.start) for entry in left)} is open: the scopes of the earlier run are "
            "forgotten and give nothing back.",
            ScopeOrderWarning,
        )
    before = seeder.snapshot()
    earlier = stack.clear()
    try:
        if seeder.seeding:
            seeder.seed_base()
        else:
            _unseed()
        if resume is not None:
            seeder.resume(resume)
    except BaseException:
        before.restore()
        if earlier:
            stack.push(earlier)
        raise
    _current, _runs = seeder, _runs + 1
    how = "drawn" if seeder.drawn else "chosen"
    _log.info("%s begins; its master seed was %s", seeder, how)


def _unseed() -> None:
    """Make all generators unpredictable: torch's default seed is a constant, and an earlier run may have seeded all."""
    import random

    import numpy as np
    import torch

    # The unseeded arm of `verify` wants the operating system's entropy.
    random.seed()  # reproseed: ignore[RS106]
    with contextlib.suppress(TypeError):  # a bit generator that the user has put there has no such seeding
        np.random.seed()  # reproseed: ignore[RS106]
    torch.seed()  # reproseed: ignore[RS106] - with every device, also those that come up later
    _log.warning("REPROSEED_SEEDING=off: scopes pass through and nothing is seeded")


def is_initialized() -> bool:
    """Whether `init` has begun a run in this process."""
    return _current is not None


def current_seeder(master_seed: int | None = None) -> Seeder:
    """Return the run that a module-level call acts on.

    Without a run, it is that of the enclosing scope, or, where a scope brings a master seed of its own, a new one for
    it.

    Raises:
        NotInitializedError: there is none.
    """
    if _current is not None:
        return _current
    entry = stack.innermost()
    if entry is not None and not entry.inherited and (entry.seeds or entry.master_seed is not None):
        return entry.seeder
    if master_seed is not None:
        return Seeder(master_seed, place=find_place(None, None, None, None))
    raise NotInitializedError(_no_run())


def any_seeder(master_seed: int | None = None) -> Seeder:
    """Return the run, or, where there is none, one that only knows the libraries' generators."""
    try:
        return current_seeder(master_seed)
    except NotInitializedError:
        return Seeder(0)


def _no_run() -> str:
    import torch.utils.data

    worker = torch.utils.data.get_worker_info()
    if worker is not None:
        return (
            f"DataLoader worker {worker.id} has no run: wrap the dataset in rs.data.SampleSeeded, or pass "
            "worker_init_fn=rs.data.seed_worker."
        )
    if _parents is not None:
        return (
            "No run: a forked child has none, since with its parent's it would repeat its parent's streams. Pass "
            "rs.data.seed_child to it, and call seed_child(number) in it."
        )
    return "No run: call rs.init(master_seed=...) first, or give this scope master_seed=... ."


def _refuse_unknown(unknown: dict[str, Any]) -> None:
    for name, value in unknown.items():
        if name in ("seed", "master", "base_seed", "random_seed"):
            raise CoordinateTypeError(f"init() has no {name!r}; the run's seed is master_seed={value!r}.")
        known = [n for n in init.__annotations__ if n not in ("unknown", "return")]
        raise CoordinateTypeError(f"init() has no argument {name!r}; it has {', '.join(known)}.")


def _seed_from_environment() -> int | None:
    text = os.environ.get("REPROSEED_MASTER_SEED")
    if not text:
        return None
    try:
        seed = check_master_seed(int(text))
    except ValueError as error:
        raise CoordinateTypeError(f"REPROSEED_MASTER_SEED={text!r} must be an integer in [0, 2**64): {error}") from None
    _log.info("the master seed %d comes from REPROSEED_MASTER_SEED", seed)
    return seed


def _task_seeds_from_environment() -> dict[Any, int]:
    text = os.environ.get("REPROSEED_TASK_SEEDS")
    if not text:
        return {}
    seeds: dict[Any, int] = {}
    for part in text.split(","):
        task, _, seed = part.partition("=")
        try:
            value = (
                int(task) if task.strip().lstrip("-").isdigit() else json.loads(task) if task.startswith('"') else task
            )
            seeds[check_value("task", value)] = check_master_seed(int(seed))
        except ValueError as error:
            raise CoordinateTypeError(
                f"REPROSEED_TASK_SEEDS={text!r} must read task=seed,task=seed, such as init=7,order=3: {error}"
            ) from None
    _log.info("task seeds %s come from REPROSEED_TASK_SEEDS", seeds)
    return seeds


def adopt(seeder: Seeder) -> None:
    """Make a run current in a child process, where scopes then work; the scopes of its parent are forgotten."""
    global _current
    stack.clear()
    _current = seeder


def parents_seeder() -> Seeder | None:
    """Return the run that this process's parent had when it forked; None in a spawned child and where it had none."""
    return _parents


def _after_fork() -> None:
    """A forked child has no run, as a spawned one has none: its streams would repeat its parent's."""
    global _current, _parents
    _current, _parents = None, _current or _parents


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
