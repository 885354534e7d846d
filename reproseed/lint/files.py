"""Find the files to lint: folders in sorted order, without what is not the project's own code."""

import fnmatch
import os
from collections.abc import Iterable, Iterator, Sequence

_NOT_OURS = frozenset(("__pycache__", "build", "dist", "env", "node_modules", "site-packages", "venv", "wandb"))


def python_files(paths: Iterable[str | os.PathLike[str]], exclude: Sequence[str] = ()) -> Iterator[str]:
    """Yield every file once, in the order of the arguments and sorted within a folder.

    Left out: hidden folders, virtual environments (known by name or by their ``pyvenv.cfg``), build
    output, and what ``exclude`` matches. A file that is named itself is always linted.

    Args:
        paths: files and folders.
        exclude: glob patterns, matched against the name and against the whole path.
    """
    seen: set[str] = set()
    for path in [os.fspath(p) for p in paths]:
        for found in _below(path, exclude) if os.path.isdir(path) else (path,):
            real = os.path.realpath(found)
            if real not in seen:
                seen.add(real)
                yield found


def _below(folder: str, exclude: Sequence[str]) -> Iterator[str]:
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _skipped(here, name) and not _excluded(here, name, exclude))
        for name in sorted(files):
            if name.endswith(".py") and not _excluded(here, name, exclude):
                yield os.path.normpath(os.path.join(here, name))


def _skipped(here: str, name: str) -> bool:
    return (
        name.startswith(".")
        or name in _NOT_OURS
        or name.endswith(".egg-info")
        or os.path.exists(os.path.join(here, name, "pyvenv.cfg"))
    )


def _excluded(here: str, name: str, patterns: Sequence[str]) -> bool:
    path = os.path.normpath(os.path.join(here, name)).replace(os.sep, "/")
    return any(fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(path, pattern.rstrip("/")) for pattern in patterns)
