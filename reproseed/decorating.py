"""Decorators for every kind of callable, around anything that opens and closes; the only module that knows wrapt."""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib
import inspect
import sys
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import wrapt

from reproseed.driving import drive, drive_coroutine
from reproseed.errors import DecorationError

if TYPE_CHECKING:
    from reproseed.scoping import Scoped

F = TypeVar("F", bound=Callable[..., Any])


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
            return drive_coroutine(scope._activate(), lambda: wrapped(*args, **kwargs), wrapped)
        if self.is_generator or self.is_async_generator:
            return drive(scope._activate(), wrapped(*args, **kwargs))
        return _call_plain(scope, wrapped, args, kwargs)


def _call_plain(scope: Scoped, wrapped: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    handle = scope._open()
    try:
        result = wrapped(*args, **kwargs)
    except BaseException:
        scope._close(handle, failed=True)
        raise
    if isinstance(result, (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)):
        return drive(scope._activate(handle), result)
    scope._close(handle)
    if isinstance(result, (contextlib._GeneratorContextManager, contextlib._AsyncGeneratorContextManager)):
        name = getattr(wrapped, "__name__", repr(wrapped))
        raise DecorationError(
            f"{name} returns a context manager made of a generator, whose body would run outside the scope: "
            f"write @contextmanager above @{scope._what}."
        )
    return result
