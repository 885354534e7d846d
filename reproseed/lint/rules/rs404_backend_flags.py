"""A backend's flags() is entered without enabled=, which turns the backend off.

torch.backends.cudnn.flags(deterministic=True) has enabled=False as its default: the part inside
runs without cuDNN. Pass enabled=True, or use `with rs.deterministic():`.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.flow import argument, unpacks
from reproseed.lint.project import Project
from reproseed.lint.source import Module

LEVEL = "W"
BAD = (
    """
import torch

with torch.backends.cudnn.flags(deterministic=True):
    train()
""",
)
GOOD = (
    """
import torch

with torch.backends.cudnn.flags(enabled=True, deterministic=True):
    train()
""",
)


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find ``cudnn.flags`` and ``mkldnn.flags`` that do not say whether the backend is on."""
    for call in module.calls("torch.backends.cudnn.flags", "torch.backends.mkldnn.flags"):
        if argument(call, 0, "enabled") is None and not unpacks(call):
            yield call
