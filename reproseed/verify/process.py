"""One run in a process group of its own, which is killed whole when its time is over."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

GRACE = 2.0
"""Seconds between the request to end and the kill."""


@dataclass(frozen=True)
class Outcome:
    """How a process ended: exit code (None: never started or killed), seconds, and why."""

    rc: int | None
    seconds: float
    timed_out: bool = False
    problem: str = ""


class Processes:
    """Starts processes and knows those that live, so that an interrupt leaves none behind."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._live: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def run(
        self,
        argv: Sequence[str],
        *,
        directory: Path,
        environment: Mapping[str, str],
        output: Path,
        timeout: float | None,
    ) -> Outcome:
        """Run a program to its end, or to the end of its time (seconds); never raises for it."""
        start = time.monotonic()
        with output.open("wb") as sink:
            try:
                process = self._start(argv, directory, environment, sink)
            except OSError as error:
                problem = f"{argv[0]!r} could not be started: {error.strerror or error}"
                return Outcome(None, 0.0, problem=problem)
            if process is None:
                return Outcome(None, 0.0, problem="stopped before it started")
            try:
                rc: int | None = process.wait(timeout)
                timed_out = False
            except subprocess.TimeoutExpired:
                rc, timed_out = None, True
            finally:
                if process.poll() is None:
                    end_group(process)
                with self._lock:
                    self._live.discard(process)
        return Outcome(rc, time.monotonic() - start, timed_out)

    def stop(self) -> None:
        """End every process that lives, and start no more."""
        with self._lock:
            self._stopped = True
            live = list(self._live)
        for process in live:
            signal_group(process, kill=True)  # the thread that runs it waits for it

    def _start(
        self,
        argv: Sequence[str],
        directory: Path,
        environment: Mapping[str, str],
        sink: IO[bytes],
    ) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._stopped:
                return None
            process = subprocess.Popen(
                list(argv),
                cwd=directory,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._live.add(process)
            return process


def end_group(process: subprocess.Popen[bytes], grace: float = GRACE) -> None:
    """End a process and all that it started: first asked, after `grace` seconds killed."""
    # The leader is not reaped before the last signal, so that the group's id cannot be reused.
    signal_group(process)
    end = time.monotonic() + grace
    while time.monotonic() < end and _has_members(process.pid):
        time.sleep(0.05)
    signal_group(process, kill=True)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)


def signal_group(process: subprocess.Popen[bytes], *, kill: bool = False) -> None:
    """Ask a process and all that it started to end, or kill them."""
    if not hasattr(os, "killpg"):  # Windows has no process groups of this kind
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL if kill else signal.SIGTERM)


def _has_members(group: int) -> bool:
    """Whether the group has a member besides an ended leader, as far as /proc tells."""
    try:
        entries = [e for e in os.listdir("/proc") if e.isdigit()]
    except OSError:
        return True
    for entry in entries:
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                state, _, pgrp = file.read().rpartition(")")[2].split()[:3]
            if int(pgrp) == group and state != "Z":
                return True
    return False
