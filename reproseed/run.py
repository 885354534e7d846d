"""The process's current run, and the functions of the module that act on it.

The current seeder is looked up when a function is called, so that a decorated function belongs to whatever run there
is then.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from reproseed import stack
from reproseed.address import check_value
from reproseed.derivation import check_derivation, check_master_seed
from reproseed.errors import CoordinateTypeError, NotInitializedError, ScopeOrderWarning, warn
from reproseed.ranks import agree_on, coordinates_of, find_place
from reproseed.resume import task_seeds_of
from reproseed.scopes import Preserved, Seeded, arg, make_seeded
from reproseed.seeder import Seeder, refuse_positional
from reproseed.snapshots import Snapshot
from reproseed.state import unseal
from reproseed.steps import Epochs, Steps
from reproseed.streams import Stream

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh

    from reproseed.determinism import Deterministic

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
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
    with _flags_of_run(deterministic):
        _begin(seeder, resume)
    _watch_from_environment()
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


def _watch_from_environment() -> None:
    """Watch for stray seeding from now on if ``REPROSEED_WATCH`` asks for it."""
    mode = os.environ.get("REPROSEED_WATCH")
    if not mode:
        return
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
    return "No run: call rs.init(master_seed=...) first, or give this scope master_seed=... ."


def reseed(task: Any, epoch: Any = 0, *, step: Any = None, shared: bool = False, **coordinates: Any) -> None:
    """Put all generators on the streams of (task, epoch), for good: nothing is put back.

    fwr13y's call. A scope, ``with seeded(...)``, is the form that can give everything back.

    Args:
        task: an int or a str; in fwr13y 0 is the initialisation and 1 the training.
        epoch: counted from 0.
        step: a step inside the epoch.
        shared: leave the rank out, so that all ranks draw alike.
        **coordinates: the user's own.
    """
    current_seeder().reseed(task, epoch, step=step, shared=shared, **coordinates)


def get_master_seed() -> int:
    """Return the run's master seed, chosen or drawn, in ``[0, 2**64)``; log it, and any run can be replayed."""
    return current_seeder().get_master_seed()


def register_generator(gen: Any = None, shared: bool = False, *, name: str | None = None, within: Any = None) -> None:
    """Let scopes seed, read and restore a generator of the user's own.

    It is seeded at once for the address in force. Objects are held weakly where they can be, functions strongly;
    registering one twice changes nothing.

    Args:
        gen: a ``torch.Generator``, ``numpy.random.Generator``, ``RandomState``, ``random.Random``, an object with a
            method ``seed(int)`` (and ``getstate``/``setstate``, ``get_state``/``set_state`` or
            ``state_dict``/``load_state_dict``), or a callable ``f(seed: int)``, which gets 31 bits and can be seeded,
            not read.
        shared: give it the same stream on all ranks.
        name: its stream's name. By default type and order of registration, ``"Random.0"``: name generators whose
            number or order may change.
        within: an object, such as a dataset, all of whose generators are registered under their paths.

    Raises:
        SourceError: it is none of these, or the name is taken.

    >>> import random, reproseed as rs
    >>> _ = rs.init(master_seed=1)
    >>> rng = random.Random()
    >>> rs.register_generator(rng, name="crop")
    """
    current_seeder().register_generator(gen, shared, name=name, within=within)


def unregister_generator(gen: Any) -> None:
    """Undo `register_generator`, by generator, by name, or by the object that was passed as ``within``.

    Raises:
        SourceError: it is not registered.
    """
    current_seeder().unregister_generator(gen)


def seeded(
    *args: Any,
    task: Any = None,
    epoch: Any = None,
    step: Any = None,
    master_seed: int | None = None,
    shared: bool = False,
    restore: bool | None = None,
    **coordinates: Any,
) -> Seeded:
    """Return a scope: inside it, all generators are on the streams of an address.

    A context manager and a decorator for functions, methods, generators, coroutines and async generators. Making it
    does nothing; one object can be entered again and again, also recursively.

    Args:
        *args: none; there to say what was meant.
        task: what the randomness is for, an int or a str.
        epoch: an int or a str.
        step: an int or a str; `steps` sets it in loops.
        master_seed: another seed than the run's, for this scope and those inside; needs no `init`.
        shared: leave the rank out, so that all ranks draw alike.
        restore: put everything back at exit. None, the default: a scope inside another gives the outer one its streams
            back, an outermost one leaves them where its block ended.
        **coordinates: the user's own, such as ``fold=3``; scopes inside inherit them. In a decorator,
            ``fold=rs.arg("fold")`` reads them from the call.

    Raises:
        CoordinateTypeError: a misspelt or reserved name, or a value of the wrong type.
        CoordinateValueError: a value out of range.
        NotInitializedError: at entry, without `init` and without ``master_seed``.
        ConcurrentScopeError: at entry, while other running code is inside a scope.

    >>> import random, reproseed as rs
    >>> with rs.seeded(master_seed=42, task="demo", epoch=0):
    ...     first = random.random()
    >>> with rs.seeded(master_seed=42, task="demo", epoch=0):
    ...     first == random.random()
    True
    """
    if args:
        refuse_positional("seeded", args)
    return make_seeded(current_seeder, "seeded()", coordinates, task, epoch, step, master_seed, shared, restore)


@overload
def seeded_epoch(function: F, /) -> F: ...
@overload
def seeded_epoch(
    *,
    task: Any = 1,
    epoch: str = "epoch",
    shared: bool = False,
    restore: bool | None = None,
    **coordinates: Any,
) -> Seeded: ...
def seeded_epoch(
    function: Any = None,
    /,
    *,
    task: Any = None,
    epoch: str = "epoch",
    shared: bool = False,
    restore: bool | None = None,
    **coordinates: Any,
) -> Any:
    """Decorate a function whose argument is the epoch: each call runs in ``seeded(task=task, epoch=<that argument>)``.

    Args:
        function: the function, when used without parentheses.
        task: 1 by default, fwr13y's training task; two functions on the default warn.
        epoch: the argument to read, positional, keyword or default; ``"self.epoch"`` reads an attribute.
        shared: as in `seeded`.
        restore: as in `seeded`.
        **coordinates: as in `seeded`; ``fold=rs.arg("fold")`` reads another argument.

    Raises:
        DecorationError: the function has no such parameter; the message names those it has.

    >>> import reproseed as rs
    >>> @rs.seeded_epoch(task="train")
    ... def train_one_epoch(model, loader, epoch): ...
    """
    if function is not None and not (callable(function) or isinstance(function, (classmethod, staticmethod, property))):
        raise CoordinateTypeError(f"seeded_epoch() takes keywords: seeded_epoch(task={function!r}).")
    if not isinstance(epoch, str):
        raise CoordinateTypeError(
            f'seeded_epoch(epoch={epoch!r}): the name of an argument is wanted, such as "epoch"; '
            f"seeded(epoch={epoch!r}) is the form for a fixed epoch."
        )
    scope = make_seeded(
        current_seeder,
        "seeded_epoch()",
        coordinates,
        task=1 if task is None else task,
        epoch=arg(epoch),
        shared=shared,
        restore=restore,
    )
    scope._default_task = task is None
    return scope if function is None else scope(function)


def preserved(check: Literal["error", "warn"] | None = None) -> Preserved:
    """Return a scope that seeds nothing and puts everything back at exit; needs no run.

    Args:
        check: also report which sources moved inside, by an `UnexpectedDrawError` or a warning: for sections that must
            not draw.

    >>> import random, reproseed as rs
    >>> state = random.getstate()
    >>> with rs.preserved():
    ...     _ = random.random()
    >>> state == random.getstate()
    True
    """
    return Preserved(any_seeder, check)


def epochs(n: int, name: str = "epoch", **coordinates: Any) -> Epochs:
    """Iterate over ``range(n)``, beginning where the loaded checkpoint stopped.

    It keeps a position of its own: begun at 0 unless a loaded position matches, which is used up by that. Saved inside
    an epoch's scope, the epoch is resumed; saved after its scopes have closed, it is done.

    Args:
        n: the number of epochs in all.
        name: the coordinate that the scopes inside use for it.
        **coordinates: what tells this loop from others, such as ``fold=2``.

    >>> import reproseed as rs
    >>> _ = rs.init(master_seed=1)
    >>> list(rs.epochs(3))
    [0, 1, 2]
    """
    return current_seeder().epochs(n, name, **coordinates)


@overload
def steps(iterable: int, name: str = "step") -> Steps[int]: ...
@overload
def steps(iterable: Iterable[T], name: str = "step") -> Steps[T]: ...
def steps(iterable: Iterable[Any] | int, name: str = "step") -> Steps[Any]:
    """Yield ``(step, item)`` inside the innermost scope, every step on streams of its own.

    Making the iterator, fetching each item, each body and what follows the last item have addresses of their own, so
    no draw depends on history and a loaded run resumes inside the epoch exactly: by arithmetic for an int and for the
    library's loaders, by its own state for a loader with ``load_state_dict``, else by fetching and discarding.

    Args:
        iterable: a DataLoader, any iterable, or a number of steps.
        name: the coordinate; an inner loop needs a name of its own and carries the outer step.

    Raises:
        ScopeError: outside a scope, for a second loop of one name, or for a plain loader with persistent workers.

    >>> import reproseed as rs
    >>> with rs.seeded(master_seed=1, task="train", epoch=0):
    ...     [(step, item) for step, item in rs.steps(["a", "b"])]
    [(0, 'a'), (1, 'b')]
    """
    return Steps(stack.innermost(), iterable, name)


def stream(name: str, *, shared: bool = False, **coordinates: Any) -> Stream:
    """Return a stream to draw from without touching the process's generators; any thread may.

    It never repeats what a scope at the same address draws. Asking one stream twice gives equal generators: add
    coordinates for others.

    Args:
        name: what it is for.
        shared: leave the rank out, so that all ranks draw alike.
        **coordinates: where in the run, such as ``epoch=3``.

    >>> import reproseed as rs
    >>> _ = rs.init(master_seed=1)
    >>> generator = rs.stream("split", shared=True).torch_generator()
    """
    return current_seeder().stream(name, shared=shared, **coordinates)


def snapshot() -> Snapshot:
    """Return the states of all sources, to compare or to restore; needs no run."""
    return any_seeder().snapshot()


def state_dict(resume: Literal["next", "same"] = "next") -> dict[str, Any]:
    """Return this rank's checkpoint: master seed, position, every source's state. No collective.

    Called in the body of step *i*, step *i* is done: call it after ``optimizer.step()``. It is a dict of ints,
    strings, lists and CPU uint8 tensors, which ``torch.load(weights_only=True)`` loads.

    Args:
        resume: ``"same"`` resumes at step *i* itself, or at the epoch that has just ended.
    """
    return current_seeder().state_dict(resume)


def load_state_dict(state: Mapping[str, Any] | str, strict: bool = True) -> None:
    """Go to where a checkpoint stopped; ``init(resume=state)`` is the better place, before anything is derived.

    Args:
        state: what `state_dict` returned, or its JSON.
        strict: False goes on with derived streams where the checkpoint does not fit, and warns.

    Raises:
        StateError: damaged; the message names the part. Nothing has been changed then.
        StateMismatchError: another master seed, derivation or set of generators.
    """
    current_seeder().load_state_dict(state, strict)


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
