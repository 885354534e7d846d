"""The commands ``trace`` and ``diff``: each takes parsed arguments, prints, and returns an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from reproseed.trace.align import Alignment
from reproseed.trace.api import run_traced
from reproseed.trace.comparison import compare
from reproseed.trace.errors import TraceError, TraceFormatError
from reproseed.trace.format import LEVELS, read

SAME, DIFFER, USAGE, UNREADABLE = 0, 1, 2, 3


def run_trace(
    command: Sequence[str],
    output: str = "trace.jsonl.gz",
    level: str = "tensors",
    steps: str | None = None,
    at: str | None = None,
) -> int:
    """Run a command and record it; return the command's own exit code, or 2 if it could not be traced.

    Args:
        command: the argument vector, after ``--``.
        output: the file; ``{rank}`` becomes the rank.
        level: ``rng``, ``state``, ``tensors`` or ``ops``.
        steps: ``first:last``, optimizer steps to record; either may be left out.
        at: ``epoch:step``, or ``step`` for scripts without epochs of reproseed.
    """
    try:
        if not command:
            raise TraceError("no command to trace: write it after `--`, as in `reproseed trace -- python train.py`.")
        if level not in LEVELS:
            raise TraceError(f"--level {level}: allowed are {', '.join(LEVELS)}.")
        traced = run_traced(command, output, level=level, steps=parse_steps(steps), at=parse_at(at))
    except TraceError as error:
        print(f"reproseed trace: {error}", file=sys.stderr)  # noqa: T201 - a command
        return USAGE
    for file in traced.files:
        print(f"reproseed trace: wrote {file}", file=sys.stderr)  # noqa: T201 - a command
    return traced.returncode


def run_diff(
    traces: Sequence[str],
    json_file: str | None = None,
    show_all: bool = False,
    align: Alignment = "auto",
    ranks: bool | None = None,
) -> int:
    """Compare the first trace with each of the others; return 0 same, 1 differ, 2 usage, 3 unreadable.

    Args:
        traces: two files; more where the ranks of one run are compared.
        json_file: write the result there as JSON; ``-`` prints it.
        show_all: print the records and all notes too.
        align: how places are matched.
        ranks: compare only what ranks have in common; by default if the ranks differ.
    """
    from reproseed.trace import render

    if len(traces) < 2:
        print("reproseed diff: two traces are wanted, as in `reproseed diff a.jsonl.gz b.jsonl.gz`.", file=sys.stderr)  # noqa: T201 - a command
        return USAGE
    try:
        first = read(traces[0])
        name = Path(traces[0]).name
        found = [(name, Path(other).name, compare(first, read(other), align, ranks)) for other in traces[1:]]
    except TraceFormatError as error:
        print(f"reproseed diff: {error}", file=sys.stderr)  # noqa: T201 - a command
        return UNREADABLE
    if json_file == "-":
        print(render.as_json(found))  # noqa: T201 - a command
    else:
        for a, b, one in found:
            render.print_comparison(a, b, one, show_all)
        if json_file is not None:
            Path(json_file).write_text(render.as_json(found) + "\n")
    return DIFFER if any(one.divergence is not None for _, _, one in found) else SAME


def parse_steps(text: str | None) -> tuple[int, int | None] | None:
    """Read ``first:last``.

    Raises:
        TraceError: it is none.
    """
    if text is None:
        return None
    first, colon, last = text.partition(":")
    try:
        if not colon:
            raise ValueError
        return int(first or 0), int(last) if last else None
    except ValueError:
        raise TraceError(f"--steps {text}: a range such as 0:200 is wanted.") from None


def parse_at(text: str | None) -> tuple[int | str | None, int] | None:
    """Read ``epoch:step`` or ``step``.

    Raises:
        TraceError: it is none.
    """
    if text is None:
        return None
    epoch, colon, step = text.rpartition(":")
    try:
        return (epoch if colon else None), int(step)
    except ValueError:
        raise TraceError(f"--at {text}: epoch and step are wanted, such as 1:8.") from None
