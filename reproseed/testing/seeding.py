"""`watch_seeding`: report whoever seeds a process-wide generator behind the run's back.

Two ways to see it. The seed functions of the libraries are wrapped while it is on; and whenever the run itself seeds or
restores a generator, it is looked at first, because a name that was imported before (``from torch import manual_seed``)
is out of reach of any wrapper.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import threading
import types
import warnings
from collections.abc import Callable
from typing import Any, Literal

from reproseed.driving import Activation
from reproseed.errors import CoordinateTypeError, StraySeedingError, StraySeedingWarning, warn
from reproseed.scoping import Scoped
from reproseed.testing.looks import LOOK, OWNER
from reproseed.testing.patches import Patches
from reproseed.testing.strays import Stray, called_by, seen_by_state

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
DEVICES = ("cuda", "xpu", "mps", "mtia")
_DEVICE_NAMES = ("manual_seed", "manual_seed_all", "seed", "seed_all")

# Module and the names of its functions that seed a process-wide generator.
FUNCTIONS: dict[str, tuple[str, ...]] = {
    "random": ("seed",),
    "numpy.random": ("seed",),
    "numpy.random.mtrand": ("seed",),
    "torch": ("manual_seed", "seed"),
    "torch.random": ("manual_seed", "seed"),
    **{f"torch.{device}{end}": _DEVICE_NAMES for device in DEVICES for end in ("", ".random")},
}


class WatchSeeding(Scoped):
    """What `watch_seeding` returns; ``found`` lists what was seen."""

    _what = "watch_seeding(...)"
    _unused = "Nothing was watched: write `with rs.testing.watch_seeding():`."

    def __init__(self, mode: Literal["warn", "error"] = "warn") -> None:
        if mode not in ("warn", "error"):
            raise CoordinateTypeError(f"watch_seeding({mode!r}): allowed are 'warn' and 'error'.")
        self.mode = mode
        self.found: list[Stray] = []
        super().__init__()

    def _open(self) -> Any:
        self._used = True
        return Watch(self)

    def _close(self, handle: Watch, failed: bool = False) -> None:
        handle.end(failed)

    def _activate(self, handle: Watch | None = None) -> Activation:
        return _Resumed(self, handle)


def watch_seeding(mode: Literal["warn", "error"] = "warn") -> WatchSeeding:
    """Return a scope, or decorator, that reports stray seeding: a script that still calls its old ``set_seed``.

    While it is on, ``random.seed``, ``numpy.random.seed``, ``torch.manual_seed``, ``torch.seed`` and those of the
    devices report file, line and library of whoever calls them; what the run itself seeds is not reported. A function
    imported before by name, or a method of a generator, cannot be wrapped. It is found when the run next touches
    that generator, or at the end: torch's by its initial seed, always; NumPy's and Python's by their state if the seed
    was an integer (for Python's, a usual one) and few numbers have been drawn since. ``REPROSEED_WATCH=warn`` or
    ``=error`` turns it on for a whole run.

    Args:
        mode: ``"warn"`` with a `StraySeedingWarning` at the caller's line, or raise a `StraySeedingError` there, before
            anything is seeded.

    Returns:
        A scope; entering it gives a `Watch`, whose ``found`` lists what was seen, each a `Stray`.

    >>> import random, warnings, reproseed as rs
    >>> with warnings.catch_warnings(), rs.testing.watch_seeding() as watch:
    ...     warnings.simplefilter("ignore")
    ...     random.seed(0)
    >>> watch.found[0].what
    'random.seed'
    """
    return WatchSeeding(mode)


class Watch:
    """A watch that is on: the wrappers in place, and what is known of each generator.

    Attributes:
        found: what was seen so far, also at earlier entries of the same scope.
    """

    def __init__(self, scope: WatchSeeding) -> None:
        self.mode = scope.mode
        self.found = scope.found
        self.pid = os.getpid()
        self.over = False
        self.patches = Patches()
        self.inside = threading.local()
        self.known: dict[str, Any] = {}
        for name in LOOK:
            self._note(name)
        try:
            self._wrap_functions()
            self._wrap_sources()
        except BaseException:
            self.patches.undo()
            raise

    def end(self, failed: bool = False) -> None:
        """Take the wrappers away, and look a last time; what is found then is told unless the body has failed."""
        self.over = True  # a patch that was laid over a wrapper may bring it back
        self.patches.undo()
        seen = [stray for name in LOOK if (stray := self._look(name)) is not None]
        if failed:
            self.found += seen
            return
        for stray in seen:
            self.report(stray, None)

    def _wrap_functions(self) -> None:
        for name in ("numpy.random", "torch"):
            importlib.import_module(name)  # so that the functions are there to be wrapped

        wrappers: dict[int, Any] = {}
        for module_name, names in FUNCTIONS.items():
            module = sys.modules.get(module_name)
            for name in names:
                function = None if module is None else vars(module).get(name)
                if function is None:
                    continue
                shown = f"{module_name.removesuffix('.random') if 'torch.' in module_name else module_name}.{name}"
                wrapper = wrappers.setdefault(id(function), self._wrapper(function, shown))
                self.patches.replace(module, name, wrapper)

    def _wrapper(self, function: Callable[..., Any], shown: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def seed(*args: Any, **kwargs: Any) -> Any:
            called, caller = _as_called(shown, sys._getframe(1))
            own = caller.f_code.co_filename.startswith(PACKAGE)
            if self.over or os.getpid() != self.pid or getattr(self.inside, "call", False):
                return function(*args, **kwargs)
            if not own:
                self.report(called_by(called, args, kwargs, caller), caller)
            self.inside.call = True  # torch.manual_seed calls those of the devices
            try:
                return function(*args, **kwargs)
            finally:
                self.inside.call = False
                for name in LOOK:
                    self._note(name)

        return seed

    def _wrap_sources(self) -> None:
        from reproseed.sources.numpy import NumpySource
        from reproseed.sources.python import PythonSource
        from reproseed.sources.torch_cpu import TorchCpuSource

        for source, name in ((PythonSource, "python"), (NumpySource, "numpy"), (TorchCpuSource, "torch")):
            for method in ("seed", "restore"):
                self.patches.replace(source, method, self._looking(getattr(source, method), name))

    def _looking(self, method: Callable[..., Any], name: str) -> Callable[..., Any]:
        @functools.wraps(method)
        def looking(source: Any, value: Any) -> None:
            stray = self._look(name) if os.getpid() == self.pid else None
            method(source, value)  # whatever was found, the run goes where it has to
            self._note(name)
            if stray is not None:
                self.report(stray, None)

        return looking

    def _note(self, name: str) -> None:
        self.known[name] = LOOK[name][0]()

    def _look(self, name: str) -> Stray | None:
        """Return what shows that a generator was seeded since it was last known, if anything does."""
        read, judge = LOOK[name]
        now = read()
        seed = None if now == self.known[name] else judge(now, self.known[name])
        self.known[name] = now
        if seed is None:
            return None
        return seen_by_state(name, OWNER[name], seed)

    def report(self, stray: Stray, caller: types.FrameType | None) -> None:
        """Note a finding, and warn or raise."""
        self.found.append(stray)
        if self.mode == "error":
            raise StraySeedingError(stray.message)
        if caller is None:
            warn(stray.message, StraySeedingWarning)
            return
        warnings.warn_explicit(
            stray.message,
            StraySeedingWarning,
            stray.file,
            stray.line,
            module=caller.f_globals.get("__name__"),
            registry=caller.f_globals.setdefault("__warningregistry__", {}),
        )


class _Resumed:
    """The watch of a function that can be suspended: on while it runs."""

    def __init__(self, scope: WatchSeeding, handle: Watch | None) -> None:
        self._scope = scope
        self._handle = handle
        self.suspend()

    def resume(self) -> None:
        """Turn it on."""
        self._handle = self._scope._open()

    def suspend(self) -> None:
        """Turn it off."""
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.end()

    def finish(self, failed: bool = False) -> None:
        """Nothing is left to do."""


_whole_run: Watch | None = None


def watch_whole_run(mode: str) -> bool:
    """Watch from now to the end of the process, or until `end_watch`; False if that is on already.

    Raises:
        CoordinateTypeError: ``mode``, which comes from ``REPROSEED_WATCH``, is neither ``"warn"`` nor ``"error"``.
    """
    global _whole_run
    if mode not in ("warn", "error"):
        raise CoordinateTypeError(f"REPROSEED_WATCH={mode!r}: allowed are 'warn' and 'error'.")
    if _whole_run is not None:
        return False
    _whole_run = WatchSeeding("warn" if mode == "warn" else "error")._open()
    return True


def end_watch() -> None:
    """End what `watch_whole_run` began."""
    global _whole_run
    watch, _whole_run = _whole_run, None
    if watch is not None:
        watch.end()


def _as_called(shown: str, caller: types.FrameType) -> tuple[str, types.FrameType]:
    """Return what was called, and from where.

    torch's own functions are out of reach under a name that was imported before, but they call those of the devices.
    """
    frame: types.FrameType | None = caller
    name = None
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "torch":
        if frame.f_globals["__name__"] == "torch.random" and frame.f_code.co_name in FUNCTIONS["torch.random"]:
            name = frame.f_code.co_name
        frame = frame.f_back
    return (shown, caller) if name is None or frame is None else (f"torch.{name}", frame)
