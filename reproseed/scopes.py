"""The scopes that a seeder hands out: `Seeded` and `Preserved`, and the view of an open one, `Scope`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from reproseed import stack
from reproseed.address import Address, check_names, check_value
from reproseed.derivation import check_master_seed
from reproseed.errors import (
    CoordinateTypeError,
    DecorationError,
    RepeatedAddressWarning,
    ReproseedWarning,
    ScopeError,
    UnexpectedDrawError,
    warn,
)
from reproseed.scoping import Arguments, Scoped
from reproseed.snapshots import Snapshot, put_back
from reproseed.stack import Entry
from reproseed.steps import Steps, refuse_loop_name
from reproseed.streams import Stream

if TYPE_CHECKING:
    from reproseed.seeder import Seeder

T = TypeVar("T")
PARAMETERS = ("task", "epoch", "step", "master_seed", "shared", "restore")


class arg:  # noqa: N801 - reads as a keyword in rs.arg("fold")
    """In a decorator's coordinate: the argument of each call to read it from.

    >>> import reproseed as rs
    >>> @rs.seeded(task="cv", fold=rs.arg("fold"))
    ... def train(data, fold): ...
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"arg({self.path!r})"


class Scope:
    """An open scope, as ``with seeded(...) as scope`` and ``current()`` give it."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry

    @property
    def address(self) -> Address:
        """The address in force; inside a step's body it includes the step."""
        return self._entry.address

    @property
    def before(self) -> Snapshot:
        """The snapshot that was taken at entry."""
        assert self._entry.before is not None  # an entry is handed out once it is complete
        return self._entry.before

    def seeds(self) -> dict[str, int]:
        """Return the first 64 bits that each source got at this address, for logs.

        For ``torch.cpu`` it is what ``torch.initial_seed()`` returns, for a callable the int of 31 bits that it was
        called with.
        """
        return self._entry.seeder.seeds_at(self._entry)

    def at(self, *, restore: bool | None = None, **coordinates: Any) -> Seeded:
        """Return a scope at this address with coordinates added, such as ``at(step=7)`` or ``at(trial=2)``."""
        check_names(coordinates, PARAMETERS, "at()")
        return Seeded(
            self._entry.seeder.itself,
            coordinates,
            master_seed=self._entry.master_seed,
            shared=self._entry.shared,
            restore=restore,
            within=self._entry,
        )

    def stream(self, name: str, *, shared: bool = False, **coordinates: Any) -> Stream:
        """Return the stream of a name at this address; see `reproseed.stream`."""
        entry = self._entry
        check_names(coordinates, ("task", "epoch", "step", "shared"), "stream()")
        address = entry.address.extended(**coordinates)
        return entry.seeder.named_stream(name, address, shared or entry.shared, entry.master_seed)

    def steps(self, iterable: Iterable[T] | int, name: str = "step") -> Steps[T]:
        """Yield ``(step, item)``; see `reproseed.steps`."""
        return Steps(self._entry, iterable, name)

    def __repr__(self) -> str:
        return f"Scope{self.address}"


class Seeded(Scoped):
    """A scope on the streams of an address. Made by `reproseed.seeded`; enter it or decorate with it."""

    _what = "seeded(...)"
    _unused = (
        "This scope was never entered and seeded nothing: write `with rs.seeded(...):`, or rs.reseed(task) "
        "to seed without a scope."
    )

    def __init__(
        self,
        lookup: Callable[[int | None], Seeder],
        coordinates: dict[str, Any],
        *,
        master_seed: int | None = None,
        shared: bool = False,
        restore: bool | None = None,
        within: Entry | None = None,
        default_task: bool = False,
    ) -> None:
        self._args = {name: value.path for name, value in coordinates.items() if isinstance(value, arg)}
        self._given = {name: check_value(name, value) for name, value in coordinates.items() if name not in self._args}
        self._master_seed = None if master_seed is None else check_master_seed(master_seed)
        self._shared = _flag("shared", shared)
        self._restore = None if restore is None else _flag("restore", restore)
        self._lookup = lookup
        self._base = Address() if within is None else within.address
        self._inherited = {} if within is None else dict(within.own)
        self._child = within is not None
        self._default_task = default_task
        self._function: str | None = None
        super().__init__()

    def _open(self) -> Scope:
        self._used = True
        if self._args:
            read = ", ".join(f'{name}=rs.arg("{path}")' for name, path in self._args.items())
            raise CoordinateTypeError(f"{read} reads an argument of a decorated function; a `with` block has none.")
        seeder = self._lookup(self._master_seed)
        around = stack.innermost()
        master_seed, own = self._master_seed, dict(self._inherited)
        if around is not None and around.seeder is seeder and not self._child:
            master_seed = around.master_seed if master_seed is None else master_seed
            own |= around.own
        own |= {name: value for name, value in self._given.items() if name not in PARAMETERS}
        address = self._base.extended(**own, **{n: v for n, v in self._given.items() if n in PARAMETERS})
        entry = Entry(seeder, master_seed, address, own, self._shared)
        restores = around is not None if self._restore is None else self._restore
        if self._default_task and self._function is not None:
            seeder.note_default_task(self._function, address)
        enter(entry, restores)
        return Scope(entry)

    def _close(self, handle: Scope) -> None:
        leave(handle._entry)

    def _activate(self, handle: Scope | None = None) -> Driven:
        return Driven(self, handle)

    def _paths(self) -> tuple[str, ...]:
        return tuple(self._args.values())

    def _for_call(self, arguments: Arguments) -> Seeded:
        read = {name: arguments.read(path) for name, path in self._args.items()}
        scope = Seeded.__new__(Seeded)
        scope.__dict__.update(self.__getstate__())
        scope._args = {}
        scope._given = self._given | {name: check_value(name, value) for name, value in read.items()}
        return scope

    def _decorating(self, function: Callable[..., Any]) -> None:
        plain = function.__func__ if isinstance(function, (classmethod, staticmethod)) else function
        called = getattr(plain, "__name__", type(plain).__name__)
        self._function = f"{getattr(plain, '__module__', '')}.{getattr(plain, '__qualname__', called)}"
        if not self._args:
            return
        parameters = list(inspect.signature(plain).parameters)
        for name, path in self._args.items():
            first = path.split(".")[0]
            if first not in parameters:
                near = next((p for p in parameters if p.startswith(first[:2])), "...")
                write = f'seeded_epoch(epoch="{near}")' if name == "epoch" else f'{name}=rs.arg("{near}")'
                raise DecorationError(
                    f"{called} has no parameter {first!r} (it has: {', '.join(parameters) or 'none'}); write {write}."
                )

    def __repr__(self) -> str:
        parts = [f"{name}={value!r}" for name, value in self._given.items()]
        parts += [f"{name}=arg({path!r})" for name, path in self._args.items()]
        return f"seeded({', '.join(parts)})"


class Preserved(Scoped):
    """A scope that seeds nothing and gives everything back. Made by `reproseed.preserved`."""

    _what = "preserved(...)"
    _unused = "This scope was never entered and preserves nothing: write `with rs.preserved():`."

    def __init__(self, lookup: Callable[[int | None], Seeder], check: Literal["error", "warn"] | None = None) -> None:
        if check not in (None, "error", "warn"):
            raise CoordinateTypeError(f"preserved(check={check!r}): allowed are 'error', 'warn' and None.")
        self._lookup = lookup
        self._check = check
        super().__init__()

    def _open(self) -> Scope:
        self._used = True
        seeder = self._lookup(None)
        around = stack.innermost()
        if around is None:
            entry = Entry(seeder, None, seeder.base, {}, seeder.base_shared, seeds=False)
        else:
            entry = Entry(
                around.seeder,
                around.master_seed,
                around.address,
                dict(around.own),
                around.shared,
                seeds=False,
            )
        enter(entry, restores=True)
        return Scope(entry)

    def _close(self, handle: Scope) -> None:
        moved = handle.before.moved() if self._check else []
        leave(handle._entry)
        if not moved:
            return
        message = f"{', '.join(moved)} moved inside preserved(check={self._check!r}), where nothing may draw; put back."
        if self._check == "error":
            raise UnexpectedDrawError(message)
        warn(message, ReproseedWarning)

    def _activate(self, handle: Scope | None = None) -> Driven:
        return Driven(self, handle)


def enter(entry: Entry, restores: bool) -> None:
    """Put the process on an entry's streams; a failure at any point leaves all as it was.

    Raises:
        ConcurrentScopeError: other running code holds the generators.
        CaptureError: a device graph is being captured.
    """
    seeder = entry.seeder
    stack.admit(entry.address)
    seeder.refuse_capture(entry.address)
    around = stack.innermost()
    if entry.seeds and stack.count(around, entry.address):
        assert around is not None  # only an entry inside another is counted
        warn(
            f"{entry.address} was entered {stack.REPEATS + 1} times inside {around.address}: every call draws the same "
            "numbers. Per sample use rs.data.SampleSeeded, per step rs.current().at(...).",
            RepeatedAddressWarning,
        )
    sources = seeder.sources()
    entry.before = Snapshot(sources)
    if restores:
        entry.target = entry.before
    if entry.seeds:
        try:
            seeder.seed(sources, entry.address, entry.shared, entry.master_seed)
        except BaseException:
            give_back(seeder, entry.before, around)
            raise
    seeder.progress.enter(entry)
    stack.push([entry])


def leave(entry: Entry) -> None:
    """Close an entry, and put back what it has to give back."""
    seeder = entry.seeder
    around = stack.innermost()
    around = stack.enclosing(entry) if around is entry else around
    seeder.progress.leave(entry)
    target = stack.remove(entry)
    if target is not None:
        give_back(seeder, target, around)
    elif around is None and entry.seeds:
        seeder.stand_at(entry.address, entry.shared, entry.master_seed)


def give_back(seeder: Seeder, target: Snapshot, around: Entry | None) -> None:
    """Restore a snapshot; what it does not hold is seeded for the scope around."""
    sources = seeder.sources()
    try:
        put_back(target, sources, seeder.streams_around(around))
    finally:
        seeder.note_not_restorable(sources)  # after the restore, which a warning turned into an error may not stop


class Driven:
    """One call of a function that can be suspended: its open scopes, put aside while it waits."""

    def __init__(self, scope: Scoped, handle: Scope | None) -> None:
        self._scope = scope
        self._entry = None if handle is None else handle._entry
        self._segment: list[Entry] = []
        self._inside: Snapshot | None = None
        if self._entry is not None:
            self._entry.target = self._entry.before
            self.suspend()

    def resume(self) -> None:
        """Put the function's streams and scopes in place."""
        if self._entry is None:
            self._entry = self._scope._open()._entry
            self._entry.target = self._entry.before
            return
        if not self._segment or self._inside is None:
            return
        seeder, inner = self._entry.seeder, self._segment[-1]
        stack.admit(inner.address)
        seeder.refuse_capture(inner.address)
        sources = seeder.sources()
        caller = Snapshot(sources)
        try:
            put_back(self._inside, sources, seeder.streams_around(inner))
        except BaseException:
            put_back(caller, sources, seeder.streams_around(stack.innermost()))
            raise
        self._entry.target = caller
        stack.push(self._segment)

    def suspend(self) -> None:
        """Put them aside, and the caller's back."""
        entry = self._entry
        if entry is None:
            return
        self._inside = Snapshot(entry.seeder.sources())
        self._segment = stack.detach(entry)
        if self._segment and entry.target is not None:
            give_back(entry.seeder, entry.target, stack.innermost())

    def finish(self) -> None:
        """Count the scope as closed."""
        if self._entry is not None:
            self._entry.seeder.progress.leave(self._entry)


def make_seeded(lookup: Callable[[int | None], Seeder], what: str, values: dict[str, Any]) -> Seeded:
    """Check the keywords of a ``seeded`` call and return its scope; None stands for a parameter left out."""
    extra = {name: value for name, value in values.items() if name not in PARAMETERS}
    check_names(extra, PARAMETERS, what)
    for name in extra:
        refuse_loop_name(name)
    coordinates = {n: v for n, v in values.items() if n not in PARAMETERS[3:] and (n in extra or v is not None)}
    return Seeded(
        lookup,
        coordinates,
        master_seed=values.get("master_seed"),
        shared=values.get("shared", False),
        restore=values.get("restore"),
    )


def current() -> Scope:
    """Return the innermost open scope.

    Raises:
        ScopeError: no scope is open.

    >>> import reproseed as rs
    >>> with rs.seeded(master_seed=1, task="train"):
    ...     rs.current().address
    Address(task='train')
    """
    entry = stack.innermost()
    if entry is None:
        raise ScopeError("no scope is open here: call current() inside `with rs.seeded(...):` or a decorated function.")
    return Scope(entry)


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise CoordinateTypeError(f"{name}={value!r} must be True or False{' or None' if name == 'restore' else ''}.")
    return value
