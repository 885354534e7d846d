"""Flags that make torch compute the same bits each time, as a scope; what is in force; what has no such form.

Imports torch only inside functions.
"""

from reproseed.determinism.environment import WORKSPACES
from reproseed.determinism.flags import ABSENT, TABLE, WORKSPACE, Flag
from reproseed.determinism.operations import Operation, explain, operations
from reproseed.determinism.report import Setting, report
from reproseed.determinism.request import deterministic
from reproseed.determinism.scope import Deterministic, end_run, for_whole_run

__all__ = [
    "ABSENT",
    "TABLE",
    "WORKSPACE",
    "WORKSPACES",
    "Deterministic",
    "Flag",
    "Operation",
    "Setting",
    "deterministic",
    "end_run",
    "explain",
    "for_whole_run",
    "operations",
    "report",
]
