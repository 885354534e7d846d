"""What a planted fault is, and how the runs that show it are made.

Runs are forked from a process that has torch imported already, which saves its import each time; a fault that needs a
Python of its own (hash seed, CPU capability) is run as the command line would.
"""

from __future__ import annotations

import functools
import os
import runpy
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
EPOCHS, HALF = 3, 2
AT = (2, 3)
"""Epoch and step at which faults that act once do so; it lies after the checkpoint."""

Place = tuple[int | None, int | None]


@dataclass(frozen=True)
class Fault:
    """One fault: edits of a script, and what the diagnosis should say.

    Attributes:
        name: in words.
        script: ``digits_cnn`` or ``text_transformer``.
        edits: pairs of text to find (once) and what to put there.
        cause: the names that are right; the first is the expected one.
        arms: ``repeat`` (two full runs) and ``resume`` (a full run, and one resumed from its half).
        both: whether both runs have the fault, or B alone.
        at: epoch and step of the first difference, by arm; (2, 3) by default.
        group: ``asked``, ``listed`` or ``new`` (planted after the rules were frozen); ``clean`` for none.
        env: variables of run B; such a run is made in a Python of its own.
        options: arguments of run B.
    """

    name: str
    script: str
    edits: tuple[tuple[str, str], ...]
    cause: tuple[str, ...]
    arms: tuple[str, ...] = ("repeat", "resume")
    both: bool = False
    at: Mapping[str, Place] = field(default_factory=dict)
    group: str = "listed"
    env: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()

    def place(self, arm: str) -> Place:
        """Return where the runs should part."""
        return self.at.get(arm, AT)


class PlantError(RuntimeError):
    """An edit does not fit its script, or a run failed."""


@functools.cache
def source(script: str) -> str:
    """Return the text of a clean script."""
    return (HERE / f"{script}.py").read_text()


def planted(fault: Fault) -> str:
    """Return the script with the fault in it."""
    text = source(fault.script)
    for old, new in fault.edits:
        if text.count(old) != 1:
            raise PlantError(f"{fault.name}: {old!r} stands {text.count(old)} times in {fault.script}.py, not once")
        text = text.replace(old, new)
    return text


class Runs:
    """Makes runs, clean ones once each.

    Args:
        folder: where scripts, checkpoints and traces go.
        level: at which level to record.
        traced: False runs without the tracer, for comparison.
    """

    def __init__(self, folder: Path, level: str = "tensors", traced: bool = True) -> None:
        self.folder = folder
        self.level = level
        self.traced = traced
        self._clean: dict[tuple[str, ...], Path] = {}

    def pair(self, fault: Fault, arm: str) -> tuple[Path, Path]:
        """Return the traces of the two runs of an arm."""
        clean, bad = source(fault.script), planted(fault)
        fresh = bool(fault.env)
        env_a = {name: "1" for name in fault.env if name == "PYTHONHASHSEED"}
        first = bad if fault.both else clean
        a = self.run(fault.script, first, ("--epochs", str(EPOCHS)), env_a, fresh)
        options: tuple[str, ...] = ("--epochs", str(EPOCHS), *fault.options)
        if arm == "resume":
            options += ("--resume", str(self.half(fault.script, first)))
        b = self.run(fault.script, bad, options, dict(fault.env), fresh, again=fault.both)
        return a, b

    def half(self, script: str, text: str) -> Path:
        """Return the checkpoint of a run that stopped at half."""
        key = ("half", script, text)
        if key not in self._clean:
            path = self.folder / f"half-{len(self._clean)}.pt"
            quiet = Runs(self.folder / "halves", traced=False)
            quiet.run(script, text, ("--epochs", str(HALF), "--save", str(path)), {}, False)
            self._clean[key] = path
        return self._clean[key]

    def run(
        self, script: str, text: str, options: tuple[str, ...], env: Mapping[str, str], fresh: bool, again: bool = False
    ) -> Path:
        """Make a run and return its trace; a run that was made before is not made again unless asked to."""
        key = (script, text, *options, *(f"{k}={v}" for k, v in env.items()), str(fresh))
        if key not in self._clean or again:
            place = self.folder / f"run-{len(self._clean)}-{time.monotonic_ns()}"
            place.mkdir(parents=True)
            (place / f"{script}.py").write_text(text)
            trace = place / "trace.jsonl.gz"
            make = _fresh if fresh else _forked
            code = make(place / f"{script}.py", options, env, trace if self.traced else None, self.level)
            if code != 0:
                raise PlantError(
                    f"{script} {' '.join(options)} ended with {code}:\n{(place / 'log').read_text()[-1500:]}"
                )
            self._clean[key] = trace
            return trace
        return self._clean[key]


def _fresh(script: Path, options: tuple[str, ...], env: Mapping[str, str], trace: Path | None, level: str) -> int:
    command = [sys.executable, script.name, *options]
    if trace is not None:
        command = [sys.executable, "-m", "reproseed.trace", "trace", "-o", str(trace), "--level", level, "--", *command]
    with (script.parent / "log").open("w") as log:
        whole = {**os.environ, "OMP_NUM_THREADS": "1", **env}
        return subprocess.run(command, cwd=script.parent, env=whole, stdout=log, stderr=log, timeout=300).returncode


def _forked(script: Path, options: tuple[str, ...], env: Mapping[str, str], trace: Path | None, level: str) -> int:
    """Run a script in a child of this process, which is the same as a new one but for what is imported."""
    import sklearn.datasets  # noqa: F401 - imported before the fork, for all children
    import torch
    import torch._dynamo  # the first optimizer imports it, which takes longer than the run

    import reproseed.trace

    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        log = os.open(script.parent / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ.update(env)
        os.chdir(script.parent)
        torch.set_num_threads(1)
        sys.argv = [str(script), *options]
        if trace is None:
            runpy.run_path(str(script), run_name="__main__")
        else:
            with reproseed.trace.record(trace, level=level):
                runpy.run_path(str(script), run_name="__main__")
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
