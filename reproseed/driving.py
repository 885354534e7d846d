"""Functions that can be suspended (generator, coroutine, async generator), driven with their surroundings in place.

At each suspension the surroundings are put aside and the caller's are put back, at each resumption the other way round.
Knows nothing of scopes or of generators of random numbers.
"""

from __future__ import annotations

import threading
import types
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from typing import Any, Protocol


class Activation(Protocol):
    """One call of a driven function: its scope, entered at the first resumption."""

    def resume(self) -> None:
        """Put the function's surroundings in place."""

    def suspend(self) -> None:
        """Put them aside, and the caller's back."""

    def finish(self, failed: bool = False) -> None:
        """Take notice that the function has ended, or failed; called once, after the last `suspend`."""


def drive(activation: Activation, result: Any) -> Any:
    """Return a generator, coroutine or async generator that runs another one, with the name of that."""
    if isinstance(result, types.GeneratorType):
        return _named(_finishing(activation, result), result)
    if isinstance(result, types.CoroutineType):
        return drive_coroutine(activation, lambda: result, result)
    return _named(_drive_async_generator(activation, result), result)


def drive_coroutine(
    activation: Activation, make: Callable[[], Coroutine[Any, Any, Any]], like: Any
) -> Coroutine[Any, Any, Any]:
    """Return a coroutine named as another, which makes the one that it drives when it is awaited."""
    coroutine: Coroutine[Any, Any, Any] = _named(_drive_coroutine(activation, make), like)
    return coroutine


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
