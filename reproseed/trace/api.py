"""Record from inside a process, and run commands traced."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reproseed.trace.errors import TraceError
from reproseed.trace.fingerprint import hasher
from reproseed.trace.inject import environment


@contextlib.contextmanager
def record(
    path: str | os.PathLike[str],
    *,
    level: str = "tensors",
    steps: tuple[int, int | None] | None = None,
    at: tuple[int | str | None, int] | None = None,
    check: bool = False,
) -> Iterator[list[Path]]:
    """Record what runs inside the block, in this thread.

    Args:
        path: the file, such as ``a.jsonl.gz``; overwritten. ``{rank}`` in it becomes the rank.
        level: ``rng``, ``state``, ``tensors`` or ``ops``; see `reproseed.trace`.
        steps: range ``[first, last)`` of optimizer steps; all by default.
        at: one step of one epoch, ``(epoch, step)``.
        check: raise if the tracer's own code moves a generator. For tests.

    Yields:
        A list that holds the files once they are opened.

    Raises:
        TraceError: xxhash is missing, the level is unknown, or the file cannot be written.

    >>> import reproseed as rs
    >>> with rs.trace.record("a.jsonl.gz"):  # doctest: +SKIP
    ...     train()
    """
    from reproseed.trace.recorder import Recorder, Selection

    _clear(Path(path))
    recorder = Recorder(path, level, Selection(steps, at), check)
    recorder.start()
    try:
        yield recorder.files
    finally:
        recorder.stop()


@dataclass(frozen=True)
class Traced:
    """A command that was run and traced.

    Attributes:
        files: the traces, one a rank.
        returncode: the command's exit code.
        output: the end of what it printed, if that was caught.
    """

    files: tuple[Path, ...]
    returncode: int
    output: str = ""


def run_traced(
    argv: Sequence[str],
    path: str | os.PathLike[str],
    *,
    level: str = "tensors",
    steps: tuple[int, int | None] | None = None,
    at: tuple[int | str | None, int] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    timeout: float | None = None,
    quiet: bool = False,
) -> Traced:
    """Run a command, unchanged, and record every training process that it starts.

    Args:
        argv: the argument vector.
        path: the file; several ranks write one each, with ``{rank}`` replaced or added.
        level: as for `record`.
        steps: as for `record`.
        at: as for `record`.
        env: the whole environment; the caller's by default.
        cwd: working directory.
        timeout: seconds.
        quiet: catch the output instead of passing it through.

    Raises:
        TraceError: xxhash is missing, the command cannot be run, ran too long, or left no trace.
    """
    hasher()
    target = Path(path)
    _clear(target)
    whole = environment(target, level, steps, at, os.environ if env is None else env)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} if quiet else {}
    try:
        done = subprocess.run(list(argv), env=whole, cwd=cwd, timeout=timeout, text=True, check=False, **pipes)  # type: ignore[call-overload]  # a dict of keywords
    except OSError as error:
        raise TraceError(f"cannot run {argv[0]!r}: {error.strerror}. Write the command after `--`.") from None
    except subprocess.TimeoutExpired:
        raise TraceError(f"{argv[0]!r} ran longer than {timeout} s and was stopped; trace fewer steps.") from None
    files = tuple(sorted(written(target)))
    if not files:
        end = f" The command ended with {done.returncode}: {(done.stdout or '')[-800:]}" if quiet else ""
        raise TraceError(
            f"no trace was written to {target}: the command reached none of the steps that were asked for, ran no "
            f"training that torch's hooks can see, or a Python that ignores PYTHONPATH (-I, -E).{end}"
        )
    return Traced(files, done.returncode, (done.stdout or "")[-4_000:])


def written(path: Path) -> list[Path]:
    """Return the traces of a run that was told to write to a path: itself, or one a rank."""
    name = path.name.replace("{rank}", "*")
    stem = name.removesuffix(".gz").removesuffix(".jsonl")
    suffix = name[len(stem) :]
    patterns = [name, f"{stem}.rank*{suffix}", f"{stem}-[0-9]*{suffix}"]
    found = {file for pattern in patterns for file in path.parent.glob(_literal(pattern)) if file.is_file()}
    return sorted(found)


def _literal(pattern: str) -> str:
    """Keep the wildcards that this module wrote; brackets of a file's own name match themselves."""
    return pattern.replace("[0-9]", "\0").replace("[", "[[]").replace("\0", "[0-9]")


def _clear(path: Path) -> None:
    """Remove the traces of an earlier run of the same name."""
    for file in written(path):
        file.unlink()


def python() -> str:
    """Return this Python, for commands that name none."""
    return sys.executable
