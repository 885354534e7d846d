"""Determinism is switched off for the whole process.

Everything after this line may use operations whose result changes from run to run. Where one
operation has no deterministic form, exempt that part alone: `with rs.deterministic("off"):` puts
the flags back at its end.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.flags import chosen_by_user, is_put_back, stores
from reproseed.lint.flow import argument, calls_in, is_literal
from reproseed.lint.project import Project
from reproseed.lint.source import Module

LEVEL = "W"
BAD = (
    """
import torch

torch.use_deterministic_algorithms(False)
""",
    """
import torch.backends.cudnn as cudnn

cudnn.deterministic = False
""",
)
GOOD = (
    """
import torch

torch.use_deterministic_algorithms(True, warn_only=True)
""",
    """
import torch

def exact(fn):
    torch.use_deterministic_algorithms(True)
    try:
        return fn()
    finally:
        torch.use_deterministic_algorithms(False)
""",
)

_SWITCH = "torch.use_deterministic_algorithms"


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find the switch and cuDNN's flag set to False, other than at the end of a scope."""
    for call in module.calls(_SWITCH):
        off = is_literal(argument(call, 0, "mode"), False)
        if off and not _excused(module, call) and not _switched_on_here(module, call):
            yield call
    for call in module.calls("torch.set_deterministic_debug_mode"):
        if is_literal(argument(call, 0, "debug_mode"), 0, "default") and not _excused(module, call):
            yield call
    for target, value in stores(module, "torch.backends.cudnn.deterministic"):
        if is_literal(value, False) and not _excused(module, target):
            yield target


def _excused(module: Module, node: ast.AST) -> bool:
    return chosen_by_user(module, node) or is_put_back(module, node)


def _switched_on_here(module: Module, call: ast.Call) -> bool:
    """Whether the same function also switches it on: a scope made by hand."""
    return module.function(call) is not None and any(
        name == _SWITCH and is_literal(argument(other, 0, "mode"), True)
        for other, name in calls_in(module, module.block(call))
    )
