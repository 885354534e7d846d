"""The scopes that a seeder hands out: `Seeded` and `Preserved`, and the view of an open one, `Scope`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from reproseed import entering, stack
from reproseed.address import Address, Value, check_names, check_value, sorted_address
from reproseed.decorating import Arguments
from reproseed.derivation import check_master_seed
from reproseed.errors import (
    CoordinateTypeError,
    DecorationError,
    ReproseedWarning,
    ScopeError,
    UnexpectedDrawError,
    warn,
)
from reproseed.scoping import Scoped
from reproseed.snapshots import Snapshot
from reproseed.stack import Entry
from reproseed.steps import Steps
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

    @overload
    def steps(self, iterable: int, name: str = "step") -> Steps[int]: ...
    @overload
    def steps(self, iterable: Iterable[T], name: str = "step") -> Steps[T]: ...
    def steps(self, iterable: Iterable[Any] | int, name: str = "step") -> Steps[Any]:
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

    _base: Address | None = None
    _inherited: dict[str, Value] = MappingProxyType({})  # type: ignore[assignment]  # read only, never written
    _function: str | None = None
    _default_task = False

    def __init__(
        self,
        lookup: Callable[[int | None], Seeder],
        coordinates: dict[str, Any],
        master_seed: int | None = None,
        shared: bool = False,
        restore: bool | None = None,
        within: Entry | None = None,
    ) -> None:
        given: dict[str, Value] = {}
        args: dict[str, str] = {}
        for name, value in coordinates.items():
            if type(value) is arg:
                args[name] = value.path
            else:
                given[name] = check_value(name, value)
        if type(shared) is not bool:
            raise CoordinateTypeError(f"shared={shared!r} must be True or False.")
        if restore is not None and type(restore) is not bool:
            raise CoordinateTypeError(f"restore={restore!r} must be True, False or None.")
        self._take(given)
        self._args = args
        self._master_seed = None if master_seed is None else check_master_seed(master_seed)
        self._shared, self._restore = shared, restore
        self._lookup = lookup
        if within is not None:
            self._base, self._inherited = within.address, within.own
        super().__init__()

    def _take(self, given: dict[str, Value]) -> None:
        self._given = given
        self._own = {name: value for name, value in given.items() if name not in PARAMETERS}

    def _open(self) -> Scope:
        if self._args:
            read = ", ".join(f'{name}=rs.arg("{path}")' for name, path in self._args.items())
            raise CoordinateTypeError(f"{read} reads an argument of a decorated function; a `with` block has none.")
        with stack.lock():
            return Scope(self._enter())

    def _enter(self) -> Entry:
        seeder = self._lookup(self._master_seed)
        around = stack.innermost()
        master_seed, own, base = self._master_seed, self._inherited, self._base
        if around is not None and around.seeder is seeder and base is None:
            master_seed = around.master_seed if master_seed is None else master_seed
            own = around.own
        given = self._given
        if self._own or own:
            own = own | self._own
            given = own | given
        address = sorted_address(given if base is None else {**base, **given})
        # A sample's draws belong to no rank, those of the scopes inside its transforms either.
        entry = Entry(seeder, master_seed, address, own, self._shared or "sample" in own)
        # Recomputed after the scopes of the forward pass, a block must not leave its streams behind in what follows.
        restores = around is not None or stack.recomputing() if self._restore is None else self._restore
        if self._default_task and self._function is not None:
            seeder.note_default_task(self._function, address)
        entering.enter(entry, restores)
        return entry

    def _close(self, handle: Scope, failed: bool = False) -> None:
        entering.leave(handle._entry, failed)

    def _activate(self, handle: Scope | None = None) -> entering.Driven:
        return entering.Driven(self, handle)

    def _paths(self) -> tuple[str, ...]:
        return tuple(self._args.values())

    def _for_call(self, arguments: Arguments) -> Seeded:
        read = {name: arguments.read(path) for name, path in self._args.items()}
        scope = self._copy()
        scope._args = {}
        scope._take(self._given | {name: check_value(name, value) for name, value in read.items()})
        return scope

    def _copy(self) -> Seeded:
        scope = Seeded.__new__(Seeded)
        scope.__dict__.update(self.__getstate__())
        return scope

    def _decorating(self, function: Callable[..., Any]) -> Seeded:
        called = getattr(function, "__name__", type(function).__name__)
        scope = self._copy()  # one object may decorate several functions
        scope._function = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', called)}"
        if not self._args:
            return scope
        parameters = list(inspect.signature(function).parameters)
        for name, path in self._args.items():
            first = path.split(".")[0]
            if first not in parameters:
                near = next((p for p in parameters if p.startswith(first[:2])), "...")
                write = f'seeded_epoch(epoch="{near}")' if name == "epoch" else f'{name}=rs.arg("{near}")'
                raise DecorationError(
                    f"{called} has no parameter {first!r} (it has: {', '.join(parameters) or 'none'}); write {write}."
                )
        return scope

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
        with stack.lock():
            return Scope(self._enter())

    def _enter(self) -> Entry:
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
        entering.enter(entry, restores=True)
        return entry

    def _close(self, handle: Scope, failed: bool = False) -> None:
        try:
            moved = handle.before.moved() if self._check and not failed else []
        finally:
            entering.leave(handle._entry, failed)
        self._report(moved)

    def _report(self, moved: list[str]) -> None:
        if not moved:
            return
        message = f"{', '.join(moved)} moved inside preserved(check={self._check!r}), where nothing may draw; put back."
        if self._check == "error":
            raise UnexpectedDrawError(message)
        warn(message, ReproseedWarning)

    def _activate(self, handle: Scope | None = None) -> entering.Driven:
        return entering.Watched(self, handle) if self._check else entering.Driven(self, handle)


def make_seeded(
    lookup: Callable[[int | None], Seeder],
    what: str,
    coordinates: dict[str, Any],
    task: Any = None,
    epoch: Any = None,
    step: Any = None,
    master_seed: int | None = None,
    shared: bool = False,
    restore: bool | None = None,
) -> Seeded:
    """Check the keywords of a ``seeded`` call and return its scope; None stands for a parameter left out."""
    if coordinates:
        check_names(coordinates, PARAMETERS, what)
    if task is not None:
        coordinates["task"] = task
    if epoch is not None:
        coordinates["epoch"] = epoch
    if step is not None:
        coordinates["step"] = step
    return Seeded(lookup, coordinates, master_seed, shared, restore)


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
