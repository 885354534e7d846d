"""Trace a command without a change to it: the variable that says what to record, and what child processes do with it.

The child's Python finds our ``sitecustomize`` on its path. That one waits until torch has been imported and starts a
recorder; a process without torch is left alone. Processes of the child's own, such as torchrun's ranks, do the same.
"""

from __future__ import annotations

import atexit
import importlib.abc
import importlib.machinery
import json
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

VARIABLE = "REPROSEED_TRACE"
BOOTSTRAP = str(Path(__file__).parent / "bootstrap")


def environment(
    path: Path,
    level: str,
    steps: tuple[int, int | None] | None,
    at: tuple[int | str | None, int] | None,
    base: Mapping[str, str],
) -> dict[str, str]:
    """Return the environment in which a command records itself into a file."""
    package = str(Path(__file__).resolve().parents[2])
    inherited = [part for part in base.get("PYTHONPATH", "").split(os.pathsep) if part]
    found = dict(base)
    found["PYTHONPATH"] = os.pathsep.join([BOOTSTRAP, *inherited])
    found[VARIABLE] = json.dumps(
        {"path": str(path.resolve()), "level": level, "steps": steps, "at": at, "package": package}
    )
    return found


class AfterTorch(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds torch as usual, and starts the recorder when its import is done."""

    def __init__(self) -> None:
        self._loader: Any = None

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Answer for torch alone."""
        if fullname != "torch" or self._loader is not None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            self._loader, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Let the real loader do it."""
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, then start."""
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        sys.meta_path.remove(self)
        start()


def start() -> None:
    """Start the recorder that the variable asks for; at the end of the process its file is complete."""
    from reproseed.trace.recorder import Recorder, Selection

    wanted = json.loads(os.environ[VARIABLE])
    steps, at = wanted["steps"], wanted["at"]
    selection = Selection(tuple(steps) if steps else None, tuple(at) if at else None)
    recorder = Recorder(wanted["path"], wanted["level"], selection)
    recorder.start()
    atexit.register(recorder.flush)
