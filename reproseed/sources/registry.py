"""The sources of one run: the libraries' own, the plug-ins', and what the user registers."""

from __future__ import annotations

import functools
import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from reproseed.address import check_value
from reproseed.errors import SourceError
from reproseed.sources.accelerator import AcceleratorSource, accelerators
from reproseed.sources.discovery import find_generators
from reproseed.sources.numpy import NumpySource
from reproseed.sources.objects import ObjectSource
from reproseed.sources.protocol import Source
from reproseed.sources.python import PythonSource
from reproseed.sources.torch_cpu import TorchCpuSource

GROUP = "reproseed.sources"
"""Entry points of this group are called with no argument and return a `Source`; each is named after the module that it
serves, and is asked for only once that module has been imported."""

_log = logging.getLogger("reproseed")


class Registry:
    """All sources of a run, in the order in which they are seeded: callables last."""

    def __init__(self, distinct_devices: bool = False) -> None:
        self.distinct = distinct_devices
        self._own: list[Source] | None = None
        self._accelerators: list[AcceleratorSource] = []
        self._plugins: dict[str, EntryPoint] = {}
        self._objects: dict[str, ObjectSource] = {}
        self._counts: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Source]:
        """Yield the sources that exist in this process now."""
        return iter(self.present())

    def present(self) -> list[Source]:
        """Return the sources that exist in this process now."""
        if self._own is None:
            self._own = [PythonSource(), NumpySource(), TorchCpuSource()]
            self._accelerators = accelerators(self.distinct)
            self._plugins = {point.name: point for point in _plugins()}
        if self._plugins:
            self._load_plugins()
        sources = list(self._own)
        for source in self._accelerators:
            if source.active():
                sources.append(source)
        if self._objects:
            alive = [source for source in list(self._objects.values()) if source.active()]
            sources += [source for source in alive if source.restorable]
            sources += [source for source in alive if not source.restorable]
        return sources

    @property
    def has_registered(self) -> bool:
        """Whether a user's or a device's source exists, whose seeding may fail."""
        return bool(self._objects) or any(source.active() for source in self._accelerators)

    def capturing(self) -> str | None:
        """Return the device type of which a graph is being captured, if any."""
        for source in self._accelerators:
            if source.active() and source.capturing():
                return source.device_type
        return None

    def arm(self, on_initialized: Callable[[AcceleratorSource], None]) -> None:
        """See that a device which comes up later is seeded then; costs a look where it is seen already."""
        for source in self._accelerators:
            if not source.active():
                source.arm(functools.partial(on_initialized, source))

    def find(self, name: str) -> Source | None:
        """Return the source of a name, whether or not it is active."""
        sources: list[Source] = [*(self._own or ()), *self._accelerators]
        return next((source for source in sources if source.name == name), self._objects.get(name))

    def register(self, generator: Any, shared: bool, name: str | None) -> ObjectSource | None:
        """Add a generator; None if it is there already."""
        for known in self._objects.values():
            if known.generator is generator or _same_method(known.generator, generator):
                return None
        chosen = self._name(generator, name)
        source = ObjectSource(generator, chosen, shared)
        self._objects[chosen] = source
        return source

    def register_within(self, obj: Any, shared: bool, name: str | None) -> list[ObjectSource]:
        """Add every generator that `find_generators` finds, all or none."""
        found = find_generators(obj)
        if not found:
            raise SourceError(
                f"within={type(obj).__name__}: no generator was found in it. It may draw from the global "
                f"generators, which "
                "scopes reach anyhow, or make its generators later: register it then."
            )
        prefix = self._name(obj, name)
        before = dict(self._objects)
        try:
            added = [self.register(one, shared, f"{prefix}.{path}" if path else prefix) for path, one in found.items()]
        except BaseException:
            self._objects = before
            raise
        return [source for source in added if source is not None]

    def unregister(self, generator: Any) -> list[ObjectSource]:
        """Remove a generator, by itself or by name; several if it was the ``within=`` of a registration."""
        names = [
            name
            for name, source in self._objects.items()
            if (isinstance(generator, str) and name == generator)
            or source.generator is generator
            or _same_method(source.generator, generator)
        ]
        if not names:
            inside = (
                {id(one) for one in find_generators(generator).values()} if not isinstance(generator, str) else set()
            )
            names = [name for name, source in self._objects.items() if id(source.generator) in inside]
        if not names:
            known = sorted(self._objects) or "none"
            raise SourceError(f"{generator!r} is not registered; registered are: {known}.")
        return [self._objects.pop(name) for name in names]

    def _name(self, generator: Any, name: str | None) -> str:
        if name is None:
            kind = getattr(generator, "__qualname__", type(generator).__name__)
            name = f"{kind}.{self._counts[kind]}"
            self._counts[kind] += 1
        elif not isinstance(name, str) or not name:
            raise SourceError(f"name={name!r} must be a text that is not empty.")
        else:
            name = str(check_value("name", name))
        if name in self._objects:
            raise SourceError(f"the name {name!r} is taken by another generator; give this one a name of its own.")
        return name

    def _load_plugins(self) -> None:
        for name in [name for name in self._plugins if name in sys.modules]:
            point = self._plugins.pop(name)
            source = point.load()()
            if not isinstance(source, Source):
                raise SourceError(
                    f"entry point {name!r} of {GROUP} gave a {type(source).__name__}, which is no Source."
                )
            self._own = [*(self._own or ()), source]
            _log.info("seeding %s through the entry point %s", name, point.value)


@functools.cache
def _plugins() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=GROUP))


def _same_method(known: Any, generator: Any) -> bool:
    """Whether both are the same bound method: each access makes a new object of it."""
    return (
        getattr(known, "__func__", None) is not None
        and getattr(known, "__func__", None) is getattr(generator, "__func__", None)
        and getattr(known, "__self__", None) is getattr(generator, "__self__", None)
    )
