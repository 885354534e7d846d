"""An enter/exit pair as a context manager and as a decorator for every kind of callable.

Knows nothing of generators of random numbers; the only module that knows wrapt. A function that can be suspended
(generator, coroutine, async generator) is *driven*: at each suspension its scope is put aside and the caller's
surroundings are put back, at each resumption the other way round.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib
import inspect
import sys
import threading
import types
import warnings
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from typing import Any, Protocol, TypeVar

import wrapt

from reproseed.errors import DecorationError, UnenteredScopeWarning, calling_line

F = TypeVar("F", bound=Callable[..., Any])


class Activation(Protocol):
    """One call of a driven function: its scope, entered at the first resumption."""

    def resume(self) -> None:
        """Put the function's surroundings in place."""

    def suspend(self) -> None:
        """Put them aside, and the caller's back."""

    def finish(self, failed: bool = False) -> None:
        """Take notice that the function has ended, or failed; called once, after the last `suspend`."""


class Arguments:
    """The arguments of one call, read by parameter name."""

    def __init__(self, signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        self._values = bound.arguments

    def read(self, path: str) -> Any:
        """Return an argument, or an attribute of one: ``"epoch"``, ``"self.epoch"``."""
        first, *attributes = path.split(".")
        value = self._values[first]
        for attribute in attributes:
            value = getattr(value, attribute)
        return value


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


def decorate(scope: Scoped, function: F) -> F:
    """Return ``function`` with each call inside ``scope``; signature, kind and result stay as they are.

    Raises:
        DecorationError: for a class, a property, or something that is not callable.
    """
    what = scope._what
    anything: Any = function
    if inspect.isclass(anything):
        raise DecorationError(
            f"{what} cannot decorate the class {anything.__name__}: which of its methods would it mean? "
            "Decorate the methods, such as __init__."
        )
    if isinstance(anything, (property, functools.cached_property)):
        kind = type(anything).__name__
        raise DecorationError(
            f"{what} cannot decorate a {kind}: decorate the function below it, with @{kind} above @{what}."
        )
    if isinstance(anything, (classmethod, staticmethod)):
        # Rebuilt around the decorated function: torch.compile looks through whatever says it is a static method.
        return type(anything)(decorate(scope, anything.__func__))  # type: ignore[return-value]  # of the same kind
    if not callable(anything):
        raise DecorationError(f"{what} decorates callables; {anything!r} is a {type(anything).__name__}.")
    return Decorated(function, scope._decorating(function))  # type: ignore[return-value]  # a transparent proxy of the function


class _Bound(wrapt.BoundFunctionWrapper):  # type: ignore[type-arg]  # not subscriptable at run time
    _torchdynamo_disable = True

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        owner = getattr(self, "__self__", None)
        if owner is None:  # a static method, or a method taken from its class
            return _attribute, (self.__module__, self.__qualname__)
        return getattr, (owner, self.__name__)

    def __copy__(self) -> _Bound:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        owner = getattr(self, "__self__", None)
        return self if owner is None else getattr(copy.deepcopy(owner, memo), self.__name__)


class Decorated(wrapt.FunctionWrapper):  # type: ignore[type-arg]  # not subscriptable at run time
    """A decorated function. Pickles by name where its name is itself, else as scope and function."""

    __bound_function_wrapper__ = _Bound
    _torchdynamo_disable = True

    def __init__(self, function: Any, scope: Scoped) -> None:
        super().__init__(function, _Caller(function, scope))
        self._self_scope = scope

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        module, name = getattr(self, "__module__", None), getattr(self, "__qualname__", None)
        if module is not None and name is not None and _lookup(module, name) is self:
            return _lookup, (module, name)
        return _redecorate, (self._self_scope, self.__wrapped__)

    def __copy__(self) -> Decorated:
        return self

    def __deepcopy__(self, memo: object) -> Decorated:
        return self


def _lookup(module: str, name: str) -> Any:
    """Return what stands under a qualified name, unbound; None if nothing does."""
    __import__(module)
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = inspect.getattr_static(found, part, None)
        if found is None:
            return None
    if isinstance(found, (classmethod, staticmethod)) and isinstance(found.__func__, Decorated):
        return found.__func__
    return found


def _attribute(module: str, name: str) -> Any:
    """Return what stands under a qualified name, bound as attribute access binds it."""
    return functools.reduce(getattr, name.split("."), importlib.import_module(module))


def _redecorate(scope: Scoped, function: Any) -> Any:
    return Decorated(function, scope)


class _Caller:
    """What happens at a call of a decorated function; the wrapper function that wrapt asks for."""

    def __init__(self, function: Any, scope: Scoped) -> None:
        self.scope = scope
        self.takes_instance = inspect.isfunction(function)
        self.signature = inspect.signature(function) if scope._paths() else None
        self.is_generator = inspect.isgeneratorfunction(function)
        self.is_coroutine = inspect.iscoroutinefunction(function)
        self.is_async_generator = inspect.isasyncgenfunction(function)

    def __call__(self, wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        scope = self.scope
        if self.signature is not None:
            given = (instance, *args) if self.takes_instance and instance is not None else args
            scope = scope._for_call(Arguments(self.signature, given, kwargs))
        if self.is_coroutine:
            # Made only when awaited: a coroutine that is cancelled before it starts must not leave another, never
            # awaited, behind. So the arguments are checked here.
            inspect.signature(wrapped).bind(*args, **kwargs)
            return _named(_drive_coroutine(scope._activate(), lambda: wrapped(*args, **kwargs)), wrapped)
        if self.is_generator or self.is_async_generator:
            return _drive(scope._activate(), wrapped(*args, **kwargs))
        return _call_plain(scope, wrapped, args, kwargs)


def _call_plain(scope: Scoped, wrapped: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    handle = scope._open()
    try:
        result = wrapped(*args, **kwargs)
    except BaseException:
        scope._close(handle, failed=True)
        raise
    if isinstance(result, (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)):
        return _drive(scope._activate(handle), result)
    scope._close(handle)
    if isinstance(result, (contextlib._GeneratorContextManager, contextlib._AsyncGeneratorContextManager)):
        name = getattr(wrapped, "__name__", repr(wrapped))
        raise DecorationError(
            f"{name} returns a context manager made of a generator, whose body would run outside the scope: "
            f"write @contextmanager above @{scope._what}."
        )
    return result


def _drive(activation: Activation, result: Any) -> Any:
    if isinstance(result, types.GeneratorType):
        return _named(_finishing(activation, result), result)
    if isinstance(result, types.CoroutineType):
        return _named(_drive_coroutine(activation, lambda: result), result)
    return _named(_drive_async_generator(activation, result), result)


def _named(driver: Any, like: Any) -> Any:
    driver.__name__ = getattr(like, "__name__", driver.__name__)
    driver.__qualname__ = getattr(like, "__qualname__", driver.__qualname__)
    return driver


def _driven(activation: Activation, inner: Any) -> Generator[Any, Any, Any]:
    """Run anything with ``send``, ``throw`` and ``close``, its surroundings in place while it runs."""
    step, value = inner.send, None
    while True:
        try:
            activation.resume()
        except BaseException:
            inner.close()
            raise
        thread = threading.get_ident()
        try:
            item = step(value)
        except StopIteration as stop:
            return stop.value
        finally:
            activation.suspend()
        try:
            value = yield item
            step = inner.send
        except GeneratorExit:
            _close(activation, inner, swap=threading.get_ident() == thread)
            raise
        except BaseException as error:
            step, value = inner.throw, error


def _finishing(activation: Activation, inner: Any) -> Generator[Any, Any, Any]:
    failed = True
    try:
        result = yield from _driven(activation, inner)
        failed = False
        return result
    finally:
        activation.finish(failed)


def _close(activation: Activation, inner: Any, swap: bool) -> None:
    if not swap:  # the collector runs in any thread, where the generators belong to somebody else
        inner.close()
        return
    activation.resume()
    try:
        inner.close()
    finally:
        activation.suspend()


_awaited = types.coroutine(_driven)


async def _drive_coroutine(activation: Activation, make: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    failed = True
    try:
        result = await _awaited(activation, make())
        failed = False
        return result
    finally:
        activation.finish(failed)


async def _drive_async_generator(activation: Activation, inner: Any) -> AsyncGenerator[Any, Any]:
    step, value, failed = inner.asend, None, True
    try:
        while True:
            try:
                item = await _awaited(activation, step(value))
            except StopAsyncIteration:
                failed = False
                return
            try:
                value = yield item
                step = inner.asend
            except GeneratorExit:
                await _awaited(activation, inner.aclose())
                raise
            except BaseException as error:
                step, value = inner.athrow, error
    finally:
        activation.finish(failed)
