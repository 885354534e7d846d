"""The old and the new TF32 settings are used together.

After fp32_precision is set, reading allow_tf32 or get_float32_matmul_precision() may raise, and
which setting holds depends on the order. Use one kind; rs.deterministic(...) sets precision and
puts it back exactly.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.project import Project
from reproseed.lint.source import Module

LEVEL = "W"
WHOLE_PROJECT = True
BAD = (
    """
import torch

torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.conv.fp32_precision = "ieee"
""",
)
GOOD = (
    """
import torch

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
""",
    """
import torch

torch.backends.cuda.matmul.fp32_precision = "ieee"
torch.backends.cudnn.conv.fp32_precision = "ieee"
""",
)


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find assignments of the new kind in projects that also have the old kind."""
    old = {"torch.set_float32_matmul_precision", "torch.get_float32_matmul_precision"}
    if not old & project.called and not any(
        _is_backend(other, node) for other, node in project.attributes("allow_tf32")
    ):
        return
    for target in module.attributes("fp32_precision"):
        if isinstance(target.ctx, ast.Store) and _is_backend(module, target):
            yield target


def _is_backend(module: Module, node: ast.Attribute) -> bool:
    return module.resolve(node).startswith("torch.backends.")
