"""Causes in the process: versions, threads, CPU capability, flags."""

from __future__ import annotations

from reproseed.trace.divergence import Cause
from reproseed.trace.evidence import Evidence


def environment(e: Evidence) -> Cause | None:
    """The processes differ in what changes rounding, and nothing more specific differs."""
    told = e.environment()
    return Cause("ENV", "likely", tuple(told)) if told else None


def environment_at_start(e: Evidence) -> Cause | None:
    """The same, where initial values differ: some random values depend on the CPU's capability."""
    if e.seen_before(("params", "end.params"), e.first.name):
        return None
    return environment(e)
