"""Find the generators that an object holds: a dataset, its transforms, a module, whatever they refer to."""

from __future__ import annotations

import functools
import random
import types
from collections.abc import Iterator
from typing import Any

MAX_ITEMS = 1000
"""A container is walked up to this many items: beyond, it holds data, not transforms."""
MAX_DEPTH = 20

_LEAVES = (
    str,
    bytes,
    bytearray,
    int,
    float,
    complex,
    bool,
    type(None),
    type,
    types.ModuleType,
    types.CodeType,
)


def find_generators(obj: object) -> dict[str, Any]:
    """Return the generators reachable from an object, by path.

    Walks attributes and slots, dicts, lists, tuples, partials, bound methods, closures and defaults, so that
    ``dataset.transform.transforms[2]._rng`` is found wherever it hides. Nothing is called, no property is read,
    large containers and arrays are left alone, and the process's own generators are not listed. Sets are skipped:
    they have no order to name their items by.

    Returns:
        path to generator (``torch.Generator``, ``numpy.random.Generator``, ``RandomState``, ``random.Random``), in
        the order of attributes; each generator once, under the first path that leads to it.

    >>> import random
    >>> class Flip:
    ...     def __init__(self):
    ...         self.rng = random.Random()
    >>> list(find_generators([Flip(), Flip()]))
    ['[0].rng', '[1].rng']
    """
    found: dict[str, Any] = {}
    _walk(obj, "", found, set(), 0)
    return found


def _walk(obj: Any, path: str, found: dict[str, Any], seen: set[int], depth: int) -> None:
    kind = type(obj)  # not isinstance: a lazy proxy would answer by running code
    if issubclass(kind, _LEAVES) or id(obj) in seen or depth > MAX_DEPTH:
        return
    seen.add(id(obj))
    if issubclass(kind, _kinds()):
        if not any(obj is one for one in _process_generators()):
            found[path.lstrip(".")] = obj
        return
    for suffix, child in _children(obj, kind):
        _walk(child, path + suffix, found, seen, depth + 1)


def _children(obj: Any, kind: type) -> Iterator[tuple[str, Any]]:
    if issubclass(kind, dict):
        if len(obj) <= MAX_ITEMS:
            for key, value in list(obj.items()):
                yield f"[{key!r}]", value
    elif issubclass(kind, (list, tuple)) and len(obj) <= MAX_ITEMS:
        for index, value in enumerate(list(obj)):
            yield f"[{index}]", value
    if kind is functools.partial:
        yield ".func", obj.func
        yield ".args", obj.args
        yield ".keywords", obj.keywords
    elif kind is types.MethodType:
        yield ".__self__", obj.__self__
        yield ".__func__", obj.__func__
    elif kind is types.FunctionType:
        yield from _of_function(obj)
    elif not kind.__module__.startswith(("numpy", "torch._C")) and kind.__name__ not in (
        "Tensor",
        "Parameter",
    ):
        yield from _attributes(obj, kind)


def _of_function(function: Any) -> Iterator[tuple[str, Any]]:
    names = function.__code__.co_freevars
    for name, cell in zip(names, function.__closure__ or (), strict=False):
        try:
            yield f".{name}", cell.cell_contents
        except ValueError:
            continue  # a cell that is not filled yet
    yield ".__defaults__", function.__defaults__
    yield ".__kwdefaults__", function.__kwdefaults__
    yield from _attributes(function, type(function))


def _attributes(obj: Any, kind: type) -> Iterator[tuple[str, Any]]:
    try:
        attributes = object.__getattribute__(obj, "__dict__")
    except AttributeError:
        attributes = {}
    for name, value in list(attributes.items()):
        # A module keeps its parts in these three; their names are what the user writes.
        if name in ("_modules", "_buffers", "_parameters") and type(value) is dict:
            for inner, child in list(value.items()):
                yield f".{inner}", child
        else:
            yield f".{name}", value
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            member = base.__dict__.get(name)
            if isinstance(member, types.MemberDescriptorType):
                try:
                    yield f".{name}", member.__get__(obj, kind)
                except AttributeError:
                    continue  # a slot that is not filled


def _kinds() -> tuple[type, ...]:
    import numpy as np
    import torch

    return (torch.Generator, np.random.Generator, np.random.RandomState, random.Random)


def _process_generators() -> tuple[Any, ...]:
    import numpy as np
    import torch

    hidden = random.seed.__self__  # type: ignore[attr-defined]  # the instance behind the module's functions
    own = [torch.default_generator, np.random.mtrand._rand, hidden]
    return (*own, *torch.cuda.default_generators, *torch.xpu.default_generators)
