"""`deterministic`: a scope over the table of flags, which gives back exactly what it found.

The flags belong to the process, so the open scopes are kept in one list for all threads. A scope that closes out of
order hands what it would have put back to the next one above that set the same flag.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeVar

from reproseed.determinism import environment
from reproseed.determinism.flags import ABSENT, TABLE, WORKSPACE, Flag
from reproseed.errors import DeterminismError, DeterminismWarning, warn
from reproseed.scoping import Scoped

Mode = Literal["error", "warn", "off"]

F = TypeVar("F", bound=Callable[..., Any])


class Opened:
    """One entry of a scope: what was wanted, and what it puts back.

    Attributes:
        mode: the strictness asked for.
        wanted: the value wanted, by flag.
        saved: what to put back, by flag.
        whole_run: whether ``init`` opened it, for a run that has no end.
    """

    def __init__(self, mode: str, wanted: dict[str, Any]) -> None:
        self.mode = mode
        self.wanted = wanted
        self.whole_run = False
        self.saved: dict[str, Any] = {}
        self.thread = threading.get_ident()

    def __repr__(self) -> str:
        return f"deterministic({self.mode!r})"


_open: list[Opened] = []
_lock = threading.RLock()


class Deterministic(Scoped):
    """What `deterministic` returns: enter it, or decorate with it."""

    _what = "deterministic(...)"
    _unused = 'No flag was set: use `with`, or init(deterministic="error") for the whole run.'

    def __init__(self, mode: Mode, wanted: dict[str, Any], asked: frozenset[str] = frozenset()) -> None:
        self.mode = mode
        self.wanted = wanted
        self._asked = asked
        super().__init__()

    def _open(self) -> Opened:
        self._used = True
        entry = Opened(self.mode, self._possible())
        with _lock:
            try:
                for name, value in entry.wanted.items():
                    entry.saved[name] = TABLE[name].save()
                    TABLE[name].write(value)
            except BaseException:
                _put_back(entry.saved)
                raise
            _open.append(entry)
        return entry

    def _possible(self) -> dict[str, Any]:
        """Return what can be set here; what cannot is told, by the mode's strictness."""
        wanted = {name: value for name, value in self.wanted.items() if name == WORKSPACE or _exists(TABLE[name])}
        for name in sorted(self._asked - wanted.keys()):
            self._tell(f"this build of torch has no flag {name}; leave it out.")
        if WORKSPACE in wanted:
            problem = environment.workspace_problem()
            if problem is not None:
                self._tell(problem)
            if problem is not None or TABLE[WORKSPACE].read() is not None:
                del wanted[WORKSPACE]
        return wanted

    def _tell(self, problem: str) -> None:
        if self.mode == "error":
            raise DeterminismError(f"{self!r}: {problem}")
        warn(f"{self!r}: {problem}", DeterminismWarning)

    def _close(self, handle: Opened, failed: bool = False) -> None:
        _close(handle)

    def _activate(self, handle: Opened | None = None) -> _Driven:
        return _Driven(self, handle)

    def covers_backward(self, function: F) -> F:
        """Decorate a function so that its forward *and* its backward run under this scope's flags.

        torch reads its flags when a kernel runs, so that an operation left out of determinism by a plain scope raises
        in a backward pass outside it. Gradients flow to the tensors among the arguments (inside lists, tuples and
        dicts too) and to the leaves that the function uses, such as a module's parameters. It differentiates once.

        Raises:
            DeterminismError: at the call, if the function uses a tensor with a history that is no argument.

        >>> import torch, reproseed as rs
        >>> @rs.deterministic("off").covers_backward
        ... def unpool(x, index):
        ...     return torch.nn.functional.max_unpool1d(x, index, 2)
        >>> x = torch.ones(1, 1, 1, requires_grad=True)
        >>> with rs.deterministic("error"):
        ...     unpool(x, torch.tensor([[[1]]])).sum().backward()
        >>> x.grad
        tensor([[[1.]]])
        """
        from reproseed.determinism.backward import covered

        return covered(self, function)

    def __repr__(self) -> str:
        return f"deterministic({self.mode!r})"


@contextlib.contextmanager
def for_whole_run(scope: Deterministic | None) -> Iterator[None]:
    """Set the flags of a run that begins inside this block; those of the run before it end when it has begun."""
    earlier = [entry for entry in _open if entry.whole_run]
    opened = None if scope is None else scope._open()
    try:
        yield
    except BaseException:
        if opened is not None:
            _close(opened)
        raise
    if opened is not None:
        opened.whole_run = True
    for entry in earlier:
        _close(entry)


def wanted_now() -> tuple[str | None, dict[str, Any]]:
    """Return the innermost open scope's mode, and the value that each flag was given last."""
    with _lock:
        wanted: dict[str, Any] = {}
        for entry in _open:
            wanted |= entry.wanted
        return (_open[-1].mode if _open else None), wanted


def end_run() -> None:
    """Put back the flags that ``init(deterministic=...)`` set for the whole run."""
    with for_whole_run(None):
        pass


class _Driven:
    """One call of a function that can be suspended: its flags, put aside while it waits."""

    def __init__(self, scope: Deterministic, handle: Opened | None) -> None:
        self._scope = scope
        self._entry = handle
        self._segment: list[Opened] = []
        self._inside: dict[str, Any] = {}
        if handle is not None:
            self.suspend()

    def resume(self) -> None:
        """Put the function's flags in place, and remember the caller's."""
        if self._entry is None:
            self._entry = self._scope._open()
            return
        if not self._segment:
            return
        with _lock:
            caller = {name: TABLE[name].save() for name in self._inside}
            _put_back(self._inside)
            for name, value in caller.items():
                next(entry for entry in self._segment if name in entry.saved).saved[name] = value
            _open.extend(self._segment)

    def suspend(self) -> None:
        """Put them aside, and the caller's back."""
        with _lock:
            if self._entry is None or self._entry not in _open:
                self._segment = []
                return
            index = _open.index(self._entry)
            self._segment = [e for e in _open[index:] if e is self._entry or e.thread == self._entry.thread]
            names = dict.fromkeys(name for entry in self._segment for name in entry.saved)
            self._inside = {name: TABLE[name].save() for name in names}
            for entry in reversed(self._segment):
                _close(entry)

    def finish(self, failed: bool = False) -> None:
        """Nothing is left to do."""


def _close(entry: Opened) -> None:
    """Take an entry off the list, and put back what no scope above it has set as well."""
    with _lock:
        if entry not in _open:
            return
        index = _open.index(entry)
        del _open[index]
        now = dict(entry.saved)
        for above in _open[index:]:
            for name in [name for name in now if name in above.saved]:
                above.saved[name] = now.pop(name)
        _put_back(now)


def _put_back(saved: dict[str, Any]) -> None:
    """Restore flags, last first; each is tried, then the first error is raised."""
    first: BaseException | None = None
    for name, value in reversed(saved.items()):
        try:
            TABLE[name].restore(value)
        except BaseException as error:
            first = first or error
    if first is not None:
        raise first


def _exists(flag: Flag) -> bool:
    return flag.name.startswith("inductor.") or flag.read() != ABSENT


def _after_fork() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
