"""An enter/exit pair as a context manager and as a decorator. Knows nothing of generators of random numbers."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from reproseed.decorating import Arguments, decorate
from reproseed.driving import Activation
from reproseed.errors import UnenteredScopeWarning, calling_line

F = TypeVar("F", bound=Callable[..., Any])


class Scoped:
    """Base of everything that is entered by ``with`` and decorates.

    A subclass gives `_open`, `_close` and `_activate`, and may read arguments through `_paths` and `_for_call`.
    One object can be entered many times, also recursively: each entry has a handle of its own.
    """

    _what = "scope"
    _unused = "This scope was never entered: write `with ...:`."

    def __init__(self) -> None:
        self._handles: list[tuple[Any, int]] = []
        self._used = False
        self._made = calling_line()

    def _open(self) -> Any:
        """Enter; return the handle of this entry."""
        raise NotImplementedError

    def _close(self, handle: Any, failed: bool = False) -> None:
        """Leave what `_open` entered; ``failed`` if the body raised."""
        raise NotImplementedError

    def _activate(self, handle: Any = None) -> Activation:
        """Return the activation of a driven call; of an open handle, which it takes over, if one is given."""
        raise NotImplementedError

    def _paths(self) -> tuple[str, ...]:
        """Return the arguments to read at each call, such as ``"epoch"`` or ``"self.epoch"``."""
        return ()

    def _for_call(self, arguments: Arguments) -> Scoped:
        """Return the scope for a call with these arguments; asked only if `_paths` names any."""
        raise NotImplementedError

    def _decorating(self, function: Callable[..., Any]) -> Scoped:
        """Return the scope for the calls of a function, or refuse to decorate it by raising."""
        return self

    def __enter__(self) -> Any:
        self._used = True
        handle = self._open()
        self._handles.append((handle, id(sys._getframe(1))))
        return handle

    def __exit__(self, kind: object = None, *rest: object) -> None:
        self._close(self._pop(id(sys._getframe(1))), kind is not None)

    # A scope means its side effects, so torch.compile must break its graph here instead of tracing through.
    __enter__._torchdynamo_disable = True  # type: ignore[attr-defined]  # dynamo's mark on a function
    __exit__._torchdynamo_disable = True  # type: ignore[attr-defined]  # dynamo's mark on a function

    def __init_subclass__(cls) -> None:
        # As above, for a decorated function that is compiled itself.
        for method in (cls._open, cls._close):
            setattr(method, "_torchdynamo_disable", True)  # noqa: B010 - a function has no such attribute to mypy

    def _pop(self, frame: int) -> Any:
        """Return the handle that this frame opened last, else the last one (entered through an ExitStack)."""
        handles = self._handles
        if handles[-1][1] != frame:
            for index in range(len(handles) - 2, -1, -1):
                if handles[index][1] == frame:
                    return handles.pop(index)[0]
        return handles.pop()[0]

    def __call__(self, function: F) -> F:
        """Decorate a callable: each call runs inside the scope."""
        self._used = True
        return decorate(self, function)

    def __del__(self) -> None:
        # An object whose constructor raised has no attribute, and was reported by that.
        if not getattr(self, "_used", True) and not sys.is_finalizing():
            warnings.warn_explicit(self._unused, UnenteredScopeWarning, *self._made)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_handles": [], "_used": True}
