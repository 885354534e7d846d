"""Find what is alive in this process and draws, or is known to trip runs: generators, loaders, recurrent nets."""

from __future__ import annotations

import gc
import random
import sys
import sysconfig
import types
from collections.abc import Iterator
from typing import Any

from reproseed.doctor.findings import Finding

_INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
_OWN = ("reproseed.",)
SHOWN = 20
"""Generators listed one by one; the rest is counted."""


def examine_objects() -> Iterator[Finding]:
    """Yield findings on generators that no scope reaches, and on objects with known traps."""
    generators: dict[int, tuple[Any, str]] = {}
    for container in gc.get_objects():
        try:
            yield from _traps(container)
            _collect(container, generators)
        except ReferenceError:  # a proxy whose object is gone
            continue
    yield from _generators(list(generators.values()))


def _collect(container: Any, found: dict[int, tuple[Any, str]]) -> None:
    """Note the generators that one container holds: they are not tracked by the collector themselves."""
    if container is found or _module_of(type(container)).startswith(_OWN):
        return
    for held in gc.get_referents(container):
        if issubclass(type(held), _kinds()) and id(held) not in found:
            holder = _holder(container)
            if holder is not None:
                found[id(held)] = (held, holder)


def _holder(container: Any) -> str | None:
    """Return in whose hands a container is, by name; None for the library's, torch's and the standard library's."""
    if type(container) is dict and "__name__" in container and "__spec__" in container:
        name, file = str(container["__name__"]), str(container.get("__file__") or "")
        return None if file.startswith(_INSTALLED) or name.startswith(_OWN) else f"module {name}"
    kind = type(container)
    if kind in (types.MethodType, types.BuiltinMethodType):  # the standard library keeps some, of generators of its own
        return None
    module = _module_of(kind)
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    if file.startswith(_INSTALLED):
        return None
    return f"{module}.{kind.__qualname__}" if module != "builtins" else f"a {kind.__qualname__}"


def _module_of(kind: type) -> str:
    return str(kind.__module__)  # a property object, in some classes


def _generators(found: list[tuple[Any, str]]) -> Iterator[Finding]:
    from reproseed import run
    from reproseed.sources.discovery import _process_generators

    known = {id(one) for one in _process_generators()}
    seeder = run.current_seeder() if run.is_initialized() else None
    registered = {id(source.generator) for source in seeder.registry._objects.values()} if seeder is not None else set()
    others = [(one, holder) for one, holder in found if id(one) not in known]
    loose = [(one, holder) for one, holder in others if id(one) not in registered]
    if len(loose) < len(others):
        yield Finding("generators", "ok", f"{len(others) - len(loose)} registered.")
    for one, holder in loose[:SHOWN]:
        kind = f"{type(one).__module__}.{type(one).__qualname__}"
        yield Finding(
            "generator",
            "note",
            f"{kind} in {holder} is not registered: scopes neither seed nor restore it.",
            "rs.register_generator(it), or rs.register_generator(within=its owner).",
        )
    if len(loose) > SHOWN:
        yield Finding("generator", "note", f"{len(loose) - SHOWN} further generators are not registered.")


def _traps(one: Any) -> Iterator[Finding]:
    torch = sys.modules.get("torch")
    if torch is None:
        return
    kind = type(one)
    if issubclass(kind, torch.utils.data.DataLoader) and one.num_workers and one.persistent_workers:
        yield Finding(
            "DataLoader",
            "problem",
            "persistent_workers=True: workers that outlive an epoch keep old streams.",
            "rs.data.seeded_loader(...), same arguments, or persistent_workers=False.",
        )
    if issubclass(kind, torch.nn.RNNBase) and one.dropout and one.num_layers > 1 and torch.version.cuda is not None:
        yield Finding(
            type(one).__name__,
            "note",
            f"dropout={one.dropout} between layers: cuDNN keeps that dropout's state, and a reseed does not reach it.",
            "One layer each, with a torch.nn.Dropout between them.",
        )


def _kinds() -> tuple[type, ...]:
    kinds: tuple[type, ...] = (random.Random,)
    if "torch" in sys.modules:
        kinds += (sys.modules["torch"].Generator,)
    if "numpy" in sys.modules:
        kinds += (sys.modules["numpy"].random.Generator, sys.modules["numpy"].random.RandomState)
    return kinds
