"""Trace two runs that part, in two passes: the state to find the step, then every operation of that step."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from reproseed.trace.align import Alignment
from reproseed.trace.api import run_traced
from reproseed.trace.comparison import Comparison, compare
from reproseed.trace.divergence import Divergence
from reproseed.trace.errors import TraceError, TraceFormatError
from reproseed.trace.format import Trace, read


@dataclass(frozen=True)
class Arm:
    """One run that can be made again.

    Attributes:
        argv: the argument vector.
        env: the whole environment; the caller's if None.
        cwd: working directory; the caller's if None.
    """

    argv: Sequence[str]
    env: Mapping[str, str] | None = None
    cwd: str | None = None


@dataclass(frozen=True)
class Passes:
    """How the two arms are run."""

    timeout: float | None = None
    align: Alignment = "auto"
    levels: tuple[str, str] = ("tensors", "ops")
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="reproseed-trace-")))


def trace_arms(a: Arm, b: Arm, passes: Passes | None = None) -> dict[str, Any]:
    """Run two arms traced, and return where they part and why, as plain data.

    Args:
        a: the first; of a run and its resumed part, the run.
        b: the second.
        passes: how they are run.

    Returns:
        A dict of plain types: ``summary`` (one sentence), ``same``, ``place``, ``address``, ``what``, ``cause``,
        ``confidence``, ``evidence``, ``remedy``, ``also`` (names of further causes), ``equal``, ``notes``, and
        ``divergence`` (all of it) or None. ``problem`` instead of these where a trace could not be made.
    """
    passes = passes or Passes()
    passes.folder.mkdir(parents=True, exist_ok=True)
    try:
        first = _both(a, b, passes, passes.levels[0], None)
        divergence = first.divergence
        if divergence is not None:
            divergence = _with_operations(divergence, a, b, passes)
        return plain(replace(first, divergence=divergence))
    except (TraceError, TraceFormatError) as error:
        return {"problem": str(error), "summary": f"the trace gave no answer: {error}", "divergence": None}


class Run(Protocol):
    """A run as `reproseed.verify` records it."""

    @property
    def argv(self) -> Sequence[str]:
        """The argument vector."""

    @property
    def env(self) -> Mapping[str, str]:
        """The variables that were set for it beside the caller's."""

    @property
    def directory(self) -> Path:
        """Its folder."""


def trace_runs(a: Run, b: Run, timeout: float | None = None) -> dict[str, Any]:
    """Make two recorded runs again, traced, and say where they part: what `verify` calls on a "no".

    Each is made in a folder of its own, so that what the first runs left stays as it is; they start in the working
    directory. Of a run and its resumed part, the run comes first.

    Args:
        a: the first run.
        b: the second.
        timeout: seconds for each run.

    Returns:
        As `trace_arms`.
    """
    with tempfile.TemporaryDirectory(prefix="reproseed-trace-") as folder:
        arms = [_again(run, Path(folder) / name) for name, run in (("a", a), ("b", b))]
        align: Alignment = "resumed" if b.env.get("REPROSEED_RESUME") else "auto"
        return trace_arms(arms[0], arms[1], Passes(timeout, folder=Path(folder), align=align))


def _again(run: Run, place: Path) -> Arm:
    """Return a run with its folder replaced by another one in arguments and variables."""
    (place / "out").mkdir(parents=True)
    old = str(run.directory)

    def moved(text: str) -> str:
        return str(place) if text == old else text.replace(old + os.sep, f"{place}{os.sep}")

    inherited = {name: value for name, value in os.environ.items() if not name.startswith("REPROSEED_")}
    given = {name: moved(value) for name, value in run.env.items()}
    return Arm([moved(argument) for argument in run.argv], inherited | given)


def plain(found: Comparison) -> dict[str, Any]:
    """Return a comparison as the plain data that `trace_arms` promises."""
    divergence = found.divergence
    if divergence is None:
        summary = f"{found.compared} places were recorded and are equal: the traced runs do not part."
        return {"same": True, "summary": summary, "notes": list(found.notes), "divergence": None}
    cause = divergence.cause
    return {
        "same": False,
        "summary": divergence.summary,
        "place": divergence.place,
        "address": dict(divergence.address),
        "what": divergence.what,
        "cause": cause.name,
        "confidence": cause.confidence,
        "evidence": list(cause.evidence),
        "remedy": cause.remedy,
        "also": [one.name for one in divergence.causes[1:]],
        "equal": list(divergence.equal),
        "notes": list(divergence.notes),
        "divergence": divergence.to_dict(),
    }


def _both(a: Arm, b: Arm, passes: Passes, level: str, at: tuple[int | str | None, int] | None) -> Comparison:
    traces = [_one(arm, name, passes, level, at) for name, arm in (("a", a), ("b", b))]
    return compare(traces[0], traces[1], passes.align)


def _one(arm: Arm, name: str, passes: Passes, level: str, at: tuple[int | str | None, int] | None) -> Trace:
    path = passes.folder / f"{name}.{level}.jsonl.gz"
    traced = run_traced(
        arm.argv, path, level=level, at=at, env=arm.env, cwd=arm.cwd, timeout=passes.timeout, quiet=True
    )
    return read(traced.files[0])


def _with_operations(found: Divergence, a: Arm, b: Arm, passes: Passes) -> Divergence:
    """Run again, every operation of the step recorded, and add what that shows to the cause.

    The first pass has the cause, since it knows what came before; the second sees one step only.
    """
    address = found.address
    step = address.get("step", address.get("optimizer_step"))
    if not isinstance(step, int) or found.what.startswith(("generators", "indices", "batch")):
        return found
    if passes.align == "resumed" and "optimizer_step" in address:
        return found  # the same step has another number in the resumed run
    try:
        second = _both(a, b, passes, passes.levels[1], (address.get("epoch"), step)).divergence
    except (TraceError, TraceFormatError):
        return found
    operation = next((s for s in second.cause.evidence if "operation" in s), None) if second else None
    if operation is None:
        return found
    cause = replace(found.cause, evidence=(*found.cause.evidence, operation))
    return replace(found, causes=(cause, *found.causes[1:]))
