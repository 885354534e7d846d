"""A progress bar for items that are fetched again, where that takes long and somebody sees it."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

_PATIENCE = 1.0  # seconds of replay after which it is shown


@contextlib.contextmanager
def replay_progress(total: int, what: str) -> Iterator[Callable[[], None]]:
    """Give a function to call once an item; a progress bar appears on a terminal after a second, if rich is there."""
    begun, bar = time.monotonic(), None

    def advance() -> None:
        nonlocal bar
        if bar is None and time.monotonic() - begun > _PATIENCE and sys.stderr.isatty():
            bar = _bar(total, what)
        if bar is not None:
            bar.advance(bar.task_ids[0])

    try:
        yield advance
    finally:
        if bar is not None:
            bar.stop()


def _bar(total: int, what: str) -> Any:
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        return None
    bar = Progress(console=Console(stderr=True), transient=True)
    bar.add_task(what, total=total)
    bar.start()
    return bar
