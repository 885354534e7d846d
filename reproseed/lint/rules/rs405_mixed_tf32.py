"""The old and the new TF32 settings are used together.

After fp32_precision is set, reading allow_tf32 or get_float32_matmul_precision() may raise, and which
setting holds depends on the order. Use one kind; rs.deterministic(...) sets precision and puts it back exactly.
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
    old = {
        "torch.set_float32_matmul_precision",
        "torch.get_float32_matmul_precision",
    } & project.called
    if not old and not any(_settings(m, ".allow_tf32") for m in project.modules):
        return
    for target in _settings(module, ".fp32_precision"):
        if isinstance(target.ctx, ast.Store):
            yield target


def _settings(module: Module, ending: str) -> list[ast.Attribute]:
    return [
        node
        for node in module.nodes(ast.Attribute)
        if node.attr == ending[1:] and module.resolve(node).startswith("torch.backends.")
    ]
