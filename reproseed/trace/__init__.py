"""Trace two runs, and name the place and the cause where they part.

``reproseed trace -o a.jsonl.gz -- python train.py`` records a run without a change to its script; ``reproseed diff
a.jsonl.gz b.jsonl.gz`` compares two. Levels: ``rng`` (generators and data), ``state`` (also parameters, gradients and
optimizers), ``tensors`` (also each module's output), ``ops`` (also each operation). The tracer draws nothing and
changes nothing: a traced run has the bits of an untraced one.

In one process, ``with record("a.jsonl.gz"):`` and ``diff("a.jsonl.gz", "b.jsonl.gz")``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reproseed.trace.api import record, run_traced
    from reproseed.trace.arms import Arm, trace_arms, trace_runs
    from reproseed.trace.comparison import Comparison, compare, diff
    from reproseed.trace.divergence import Cause, Divergence
    from reproseed.trace.errors import TraceError, TraceFormatError
    from reproseed.trace.format import Trace, read

__all__ = [
    "Arm",
    "Cause",
    "Comparison",
    "Divergence",
    "Trace",
    "TraceError",
    "TraceFormatError",
    "compare",
    "diff",
    "read",
    "record",
    "run_traced",
    "trace_arms",
    "trace_runs",
]

_HOMES = {
    "Arm": "arms",
    "Cause": "divergence",
    "Comparison": "comparison",
    "Divergence": "divergence",
    "Trace": "format",
    "TraceError": "errors",
    "TraceFormatError": "errors",
    "compare": "comparison",
    "diff": "comparison",
    "read": "format",
    "record": "api",
    "run_traced": "api",
    "trace_arms": "arms",
    "trace_runs": "arms",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value  # a submodule of the same name must not take its place
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
