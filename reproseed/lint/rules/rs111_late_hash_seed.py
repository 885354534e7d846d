"""PYTHONHASHSEED is set while Python is running.

The interpreter reads it once, at its start: this changes nothing, and sets of strings keep their
random order. Set it in the shell, in the launcher or in the job file; better, do not depend on
it: sort what comes out of a set.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.environment import settings
from reproseed.lint.project import Project
from reproseed.lint.source import Module

LEVEL = "W"
BAD = (
    """
import os

os.environ["PYTHONHASHSEED"] = "0"
""",
)
GOOD = (
    """
import os
import sys

if os.environ.get("PYTHONHASHSEED") != "0":
    os.environ["PYTHONHASHSEED"] = "0"
    os.execv(sys.executable, [sys.executable, *sys.argv])
""",
)

_STARTS_PYTHON = (
    "os.exec",
    "os.spawn",
    "os.posix_spawn",
    "subprocess.",
    "multiprocessing.",
    "torch.multi",
)


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find settings of the variable in files that start no other process."""
    if any(name.startswith(_STARTS_PYTHON) for name in module.called):
        return
    for place, _ in settings(module, "PYTHONHASHSEED"):
        yield place
