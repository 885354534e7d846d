"""The sources of one run: the libraries' own, the plug-ins', and what the user registers."""

from __future__ import annotations

import functools
import logging
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from reproseed.address import check_value
from reproseed.errors import SourceError
from reproseed.sources.accelerator import AcceleratorSource, accelerators
from reproseed.sources.discovery import find_generators, is_of_process
from reproseed.sources.numpy import NumpySource
from reproseed.sources.objects import ObjectSource, handler_of
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
        self._own: list[Source] = []
        self._accelerators: list[AcceleratorSource] = []
        self._backend: str | None = None
        self._unloaded: dict[str, EntryPoint] = {}
        self._plugins: list[Source] = []
        self._objects: dict[str, ObjectSource] = {}
        self._counts: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Source]:
        """Yield the sources that exist in this process now."""
        return iter(self.present())

    def present(self) -> list[Source]:
        """Return the sources that exist in this process now."""
        self._find()
        if self._unloaded:
            self._load_plugins()
        sources = list(self._own)
        if self._plugins:
            sources += [source for source in self._plugins if source.active()]
        if self._accelerators:
            sources += [source for source in self._accelerators if source.active()]
        if self._objects:
            alive = [source for source in list(self._objects.values()) if source.active()]
            sources += [source for source in alive if source.restorable]
            sources += [source for source in alive if not source.restorable]
        return sources

    def _find(self) -> None:
        """Look for the sources that come with the libraries, and again once torch has been given another backend."""
        backend = _backend_name()()
        if backend == self._backend:
            return
        if not self._own:
            self._own = [PythonSource(), NumpySource(), TorchCpuSource()]
            self._unloaded = {point.name: point for point in _plugins()}
        known = {source.name for source in self._accelerators}
        self._accelerators += [source for source in accelerators(self.distinct) if source.name not in known]
        self._backend = backend

    @property
    def has_registered(self) -> bool:
        """Whether a user's, a plug-in's or a device's source exists, whose seeding may fail."""
        if self._objects or self._plugins:
            return True
        return bool(self._accelerators) and any(source.active() for source in self._accelerators)

    @property
    def may_come_up(self) -> bool:
        """Whether this build of torch knows a device type, which may be initialised later."""
        return bool(self._accelerators)

    def capturing(self) -> str | None:
        """Return the device type of which a graph is being captured, if any."""
        if not self._own:
            self._find()
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
        self._find()
        sources: list[Source] = [*self._own, *self._plugins, *self._accelerators]
        return next((source for source in sources if source.name == name), self._objects.get(name))

    def register(self, generator: Any, shared: bool, name: str | None) -> ObjectSource | None:
        """Add a generator; None if it is there already, as the process's own always are."""
        self._forget_dead()
        if is_of_process(generator):
            return None
        if any(_same(known.generator, generator) for known in self._objects.values()):
            return None
        handler_of(generator)  # refuses what it does not know, before a name is given away
        chosen = self._name(generator, name)
        source = self._objects[chosen] = ObjectSource(generator, chosen, shared)
        return source

    def register_within(self, obj: Any, shared: bool, name: str | None) -> list[ObjectSource]:
        """Add every generator that `find_generators` finds, all or none."""
        found = find_generators(obj)
        if not found:
            raise SourceError(
                f"within={type(obj).__name__}: no generator was found in it. It may draw from the global "
                "generators, which scopes reach anyhow, or make its generators later: register it then."
            )
        new = {path: one for path, one in found.items() if not self._knows(one)}
        if not new:
            return []
        prefix = self._name(obj, name)
        before = self.contents()
        try:
            added = [self.register(one, shared, f"{prefix}.{path}" if path else prefix) for path, one in new.items()]
        except BaseException:
            self.go_back(before)
            raise
        return [source for source in added if source is not None]

    def contents(self) -> tuple[dict[str, ObjectSource], Counter[str]]:
        """Return what is registered, for `go_back`."""
        return dict(self._objects), Counter(self._counts)

    def go_back(self, contents: tuple[dict[str, ObjectSource], Counter[str]]) -> None:
        """Undo registrations that failed, so that later generators are named as if they had not been tried."""
        self._objects, self._counts = contents

    def _knows(self, generator: Any) -> bool:
        return any(_same(known.generator, generator) for known in self._objects.values())

    def _forget_dead(self) -> None:
        """Give the names of dead generators free: a notebook's cell that is run again registers anew."""
        for name in [name for name, source in self._objects.items() if not source.active()]:
            del self._objects[name]

    def unregister(self, generator: Any) -> list[ObjectSource]:
        """Remove a generator, by itself or by name; several if it was the ``within=`` of a registration."""
        named = [generator] if isinstance(generator, str) and generator in self._objects else []
        names = named or [name for name, source in self._objects.items() if _same(source.generator, generator)]
        if not names:
            inside = {id(one) for one in find_generators(generator).values()}
            names = [name for name, source in self._objects.items() if id(source.generator) in inside]
        if not names:
            known = sorted(self._objects) or "none"
            raise SourceError(f"{generator!r} is not registered; registered are: {known}.")
        return [self._objects.pop(name) for name in names]

    def _name(self, generator: Any, name: str | None) -> str:
        if name is None:
            kind = getattr(generator, "__qualname__", type(generator).__name__)
            while name is None or name in self._objects:  # the user may have named one so
                name = f"{kind}.{self._counts[kind]}"
                self._counts[kind] += 1
            return name
        if not isinstance(name, str) or not name:
            raise SourceError(f"name={name!r} must be a text that is not empty.")
        name = str(check_value("name", name))
        if name in self._objects:
            raise SourceError(f"the name {name!r} is taken by another generator; give this one a name of its own.")
        return name

    def _load_plugins(self) -> None:
        for name in [name for name in self._unloaded if name in sys.modules]:
            point = self._unloaded[name]
            try:
                source = point.load()()
            except Exception as error:
                raise SourceError(
                    f"entry point {name!r} of {GROUP}, {point.value}, failed: {error!r}. {name} would stay unseeded; "
                    "repair or uninstall the package that brings it."
                ) from error
            if not isinstance(source, Source):
                raise SourceError(
                    f"entry point {name!r} of {GROUP} gave a {type(source).__name__}, which is no Source."
                )
            self._plugins.append(source)
            del self._unloaded[name]
            _log.info("seeding %s through the entry point %s", name, point.value)


@functools.cache
def _backend_name() -> Callable[[], str]:
    import torch

    return torch._C._get_privateuse1_backend_name


@functools.cache
def _plugins() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=GROUP))


def _same(known: Any, generator: Any) -> bool:
    """Whether both are one object, or the same bound method: each access makes a new object of it."""
    methods = (types.MethodType, types.BuiltinMethodType)
    if known is generator:
        return True
    return (
        isinstance(known, methods)
        and isinstance(generator, methods)
        and known.__self__ is generator.__self__
        and known == generator
    )
