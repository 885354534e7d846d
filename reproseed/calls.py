"""The calls of the package on the run of this process. What they do is the seeder's; see `reproseed.run` for whose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeVar, overload

from reproseed import stack
from reproseed.epoch_loop import Epochs
from reproseed.errors import CoordinateTypeError
from reproseed.run import any_seeder, current_seeder
from reproseed.scopes import Preserved, Seeded, arg, make_seeded
from reproseed.seeder import refuse_positional
from reproseed.snapshots import Snapshot
from reproseed.steps import Steps
from reproseed.streams import Stream

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


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
