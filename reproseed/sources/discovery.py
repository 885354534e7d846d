"""Find the generators that an object holds: a dataset, its transforms, a module, whatever they refer to."""

from __future__ import annotations

import functools
import random
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

from reproseed.decorating import Decorated

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

    Walks attributes and slots, dicts, lists, tuples, deques, partials, bound methods, closures and defaults, so that
    ``dataset.transform.transforms[2]._rng`` is found wherever it hides, and a generator that a class holds for all
    its objects. Nothing is called, no property is read, large containers and arrays are left alone, and the process's
    own generators are not listed. Sets are skipped: they have no order to name their items by.

    Returns:
        path to generator (``torch.Generator``, ``numpy.random.Generator``, ``RandomState``, ``random.Random``),
        shortest paths first, then in the order of attributes; each generator once, under the first path to it.

    >>> import random
    >>> class Flip:
    ...     def __init__(self):
    ...         self.rng = random.Random()
    >>> list(find_generators([Flip(), Flip()]))
    ['[0].rng', '[1].rng']
    """
    found: dict[str, Any] = {}
    seen: set[int] = set()
    # Breadth first: what is near is found by its short path, whatever long way also leads to it.
    waiting: deque[tuple[Any, str, int]] = deque([(obj, "", 0)])
    while waiting:
        one, path, depth = waiting.popleft()
        kind = type(one)  # not isinstance: a lazy proxy would answer by running code
        if issubclass(kind, _LEAVES) or id(one) in seen:
            continue
        seen.add(id(one))
        if issubclass(kind, _kinds()):
            if not is_of_process(one):
                name = path.lstrip(".")
                while name in found:  # a closure's variable and an attribute may have one name
                    name += "'"
                found[name] = one
        elif depth < MAX_DEPTH:
            waiting.extend((child, path + suffix, depth + 1) for suffix, child in _children(one, kind))
    return found


def _children(obj: Any, kind: type) -> Iterator[tuple[str, Any]]:
    # The containers' own methods: a subclass may have overridden them with code that loads something.
    if issubclass(kind, dict):
        if dict.__len__(obj) <= MAX_ITEMS:
            for index, (key, value) in enumerate(list(dict.items(obj))):
                yield f"[{_key(key, index)}]", value
    elif issubclass(kind, (list, tuple, deque)):
        base = next(base for base in (list, tuple, deque) if issubclass(kind, base))
        if base.__len__(obj) <= MAX_ITEMS:
            for index, value in enumerate(list(base.__iter__(obj))):
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
    elif issubclass(kind, Decorated):
        yield "", obj.__wrapped__  # a scope around a transform does not rename what is in it
    elif not str(kind.__module__).startswith(("numpy", "torch._C")) and kind.__name__ not in ("Tensor", "Parameter"):
        yield from _attributes(obj, kind)


def _key(key: Any, index: int) -> str:
    """Name a dict's item by its key, or by its place where the key's text would differ from run to run."""
    return repr(key) if type(key) in (str, int, float, bool, bytes, type(None)) else f"item {index}"


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
    attributes = _instance_dict(obj, kind)
    for name, value in list(attributes.items()):
        # A module keeps its parts in these three; their names are what the user writes.
        if name in ("_modules", "_buffers", "_parameters") and type(value) is dict:
            for inner, child in list(value.items()):
                yield f".{inner}", child
        else:
            yield f".{name}", value
    for base in kind.__mro__:
        for name, member in list(base.__dict__.items()):
            if isinstance(member, types.MemberDescriptorType) and kind.__flags__ & _HEAP:
                try:
                    yield f".{name}", member.__get__(obj, kind)
                except AttributeError:
                    continue  # a slot that is not filled
            elif name not in attributes and issubclass(type(member), _kinds()):
                yield f".{name}", member


_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class made by a `class` statement, whose members are its slots
_OWN_DICT = vars(type("_", (), {}))["__dict__"]  # the descriptor that a `class` statement makes


def _instance_dict(obj: Any, kind: type) -> dict[str, Any]:
    """Return the attributes of an object without running code of its class: a proxy's ``__dict__`` loads its target."""
    for base in kind.__mro__:
        descriptor = base.__dict__.get("__dict__")
        if descriptor is None:
            continue
        made_by_class = getattr(descriptor, "__doc__", None) == _OWN_DICT.__doc__
        member = isinstance(descriptor, types.MemberDescriptorType)  # a field in memory, as SimpleNamespace has it
        if not (made_by_class or member or base in (types.FunctionType, functools._lru_cache_wrapper)):
            return {}
        found = descriptor.__get__(obj, kind)
        return found if type(found) is dict else {}
    return {}


def _kinds() -> tuple[type, ...]:
    import numpy as np
    import torch

    return (torch.Generator, np.random.Generator, np.random.RandomState, random.Random)


def is_of_process(generator: object) -> bool:
    """Whether this is a generator of the process itself, which scopes reach anyhow."""
    return any(generator is one for one in _process_generators())


def _process_generators() -> tuple[Any, ...]:
    import numpy as np
    import torch

    hidden = random.seed.__self__  # type: ignore[attr-defined]  # the instance behind the module's functions
    own = [torch.default_generator, np.random.mtrand._rand, hidden]
    return (*own, *torch.cuda.default_generators, *torch.xpu.default_generators)
