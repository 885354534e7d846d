"""`Recorder`: takes note of what a run does, without touching it.

The hooks (`reproseed.trace.hooks`) see what happens and call `emit`; this class says whether, where and into which file
it is written. Nothing here draws a number or keeps a tensor alive, and an error of the tracer's own ends the trace, not
the run.
"""

from __future__ import annotations

import base64
import functools
import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from reproseed.trace import environment, places
from reproseed.trace.errors import TraceError
from reproseed.trace.fingerprint import hasher
from reproseed.trace.format import FAILED, LEVELS, Writer
from reproseed.trace.generators import Generators, read_all
from reproseed.trace.models import Models

P = ParamSpec("P")
R = TypeVar("R")
_log = logging.getLogger("reproseed")

# Written outside the selected steps too: what a loader was made of is told when its iterator is made.
_ALWAYS = frozenset({"loader", "sampler", "dataset", "generator", "anchor", "note"})


@dataclass(frozen=True)
class Selection:
    """Which steps are recorded; all by default.

    Args:
        steps: range ``[first, last)`` of optimizer steps since the start of the process; None for all.
        at: one step of one epoch; ``(None, step)`` for optimizer steps of the process.
    """

    steps: tuple[int, int | None] | None = None
    at: tuple[int | str | None, int] | None = None

    def holds(self, key: places.Key, step: int) -> bool:
        """Whether a place is recorded, at a count of optimizer steps."""
        if self.steps is not None and not (self.steps[0] <= step and (self.steps[1] is None or step < self.steps[1])):
            return False
        if self.at is None:
            return True
        epoch, wanted = self.at
        if epoch is None:
            return step == wanted
        address = {name: value for one in key[0] for name, value in one.items()}
        return str(address.get("epoch")) == str(epoch) and address.get("step", key[2]) == wanted


EVERYTHING = Selection()


@dataclass
class Recorder:
    """Records one process.

    Args:
        path: the file; ``{rank}`` in it becomes the rank, which is added where several ranks run.
        level: ``rng`` (generators and data), ``state`` (also parameters, gradients, optimizers), ``tensors`` (also
            each module's output) or ``ops`` (also each operation).
        selection: which steps.
        check: compare all generators before and after the tracer's own code, and fail if one moved. For tests.
    """

    path: str | os.PathLike[str]
    level: str = "tensors"
    selection: Selection = EVERYTHING
    check: bool = False
    files: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise TraceError(f"level={self.level!r}: allowed are {', '.join(LEVELS)}.")
        hasher()
        self.places = places.Places()
        self.generators = Generators()
        self.models = Models()
        self._thread = threading.get_ident()
        self._busy = False
        self._writer: Writer | None = None
        self._written: places.Key | None = None
        self._undo: list[Callable[[], None]] = []
        self._broken = False
        self._in_worker: bool | None = None
        self.said: set[str] = set()

    # --- life ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Install the hooks."""
        from reproseed.trace.hooks import install

        self._undo = install(self)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def stop(self) -> None:
        """Remove the hooks and close the file."""
        while self._undo:
            self._undo.pop()()
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def flush(self) -> None:
        """Bring what is recorded to the file; called when the process ends."""
        if self._writer is not None:
            self._writer.flush()

    def _forked(self) -> None:
        """In a forked child: what the parent has not written yet is the parent's."""
        self._writer, self._written, self._in_worker = None, None, None
        self._thread, self._busy = threading.get_ident(), False

    # --- what hooks ask ------------------------------------------------------------------------------------------

    def at_least(self, level: str) -> bool:
        """Whether the level includes another one."""
        return LEVELS.index(self.level) >= LEVELS.index(level)

    def degrade(self, reason: str) -> None:
        """Go on at level ``state``, and say why in the trace."""
        if self.at_least("tensors"):
            self.level = "state"
            self.emit("note", reason)

    def wanted(self, level: str = "rng") -> bool:
        """Whether a record of a level would be written now."""
        return self.at_least(level) and self.selection.holds(self.places.now(), self.places.steps)

    def emit(self, kind: str, name: str, /, **fields: Any) -> None:
        """Write a record at the present place."""
        key = self.places.now()
        if kind not in _ALWAYS and not self.selection.holds(key, self.places.steps):
            return
        if self._writer is None:
            self._writer = self._open()
        if key != self._written:
            self._written = key
            self._writer.write(places.plain(key))
        self._writer.write({"t": kind, "n": name, **fields})

    def emit_generators(self, name: str, seeded: bool = False) -> None:
        """Write where all generators stand."""
        found = self.generators.seeded() if seeded else self.generators.read()
        self.emit("rng", name, g=found)
        for generator, stream, words in self.generators.anchors:
            self.emit("anchor", generator, stream=stream, key=base64.b64encode(words).decode())
        self.generators.anchors.clear()

    def listening(self) -> bool:
        """Whether the code that runs now is to be recorded: this thread, not from inside, and no loader's worker."""
        if self._busy or self._broken or threading.get_ident() != self._thread:
            return False
        if self._in_worker is None:
            import torch.utils.data

            self._in_worker = torch.utils.data.get_worker_info() is not None
        return not self._in_worker

    def fail(self, error: BaseException) -> None:
        """End the trace, not the run."""
        self._broken = True
        _log.error("the tracer failed and records nothing more: %r", error, exc_info=error)
        try:
            if self._writer is not None:
                self._writer.write({"t": "note", "n": f"{FAILED}: {type(error).__name__}: {error}"})
                self._writer.flush()
        except OSError:
            _log.exception("the trace could not be written")

    def _open(self) -> Writer:
        head = environment.header(self.level)
        name = os.fspath(self.path)
        if "{rank}" in name:
            name = name.replace("{rank}", str(head["rank"]))
        elif head["world_size"] > 1:
            name = _inserted(name, f".rank{head['rank']}")
        path, number = Path(name), 1
        while path in self.files or not _claim(path):
            number += 1
            path = Path(_inserted(name, f"-{number}"))
        self.files.append(path)
        return Writer(path, head)


def recorded(hook: Callable[Concatenate[Recorder, P], R]) -> Callable[Concatenate[Recorder, P], R | None]:
    """Guard a hook: it runs only where the recorder listens, never inside itself, and never raises."""

    @functools.wraps(hook)
    def guarded(recorder: Recorder, /, *args: P.args, **keywords: P.kwargs) -> R | None:
        if not recorder.listening():
            return None
        recorder._busy = True
        before = read_all() if recorder.check else None
        try:
            return hook(recorder, *args, **keywords)
        except Exception as error:
            if recorder.check:
                raise
            recorder.fail(error)
            return None
        finally:
            recorder._busy = False
            if before is not None and read_all() != before:
                raise AssertionError(f"the tracer's {hook.__qualname__} moved a generator")

    guarded.__dict__["_torchdynamo_disable"] = True  # never inlined into a compiled function
    return guarded


def _claim(path: Path) -> bool:
    """Make the file, unless another process of this run has it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
    except FileExistsError:
        return False
    except OSError as error:
        raise TraceError(f"cannot write the trace {path}: {error.strerror}. Choose another file with -o.") from None
    return True


def _inserted(name: str, text: str) -> str:
    """Put text before the suffixes ``.jsonl.gz``."""
    folder, base = os.path.split(name)
    for suffix in (".jsonl.gz", ".jsonl", ".gz"):
        if base.endswith(suffix):
            return os.path.join(folder, base.removesuffix(suffix) + text + suffix)
    return name + text
