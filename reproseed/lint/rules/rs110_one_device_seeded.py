"""Only the current CUDA device is seeded.

Other devices of the process keep their state. torch.manual_seed(seed) seeds the CPU and all
devices at once, and rs.init and rs.seeded do so for every library.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.flow import calls_in
from reproseed.lint.project import Project
from reproseed.lint.source import Module

LEVEL = "I"
BAD = (
    """
import torch

torch.cuda.manual_seed(1)
""",
)
GOOD = (
    """
import torch

torch.manual_seed(1)
torch.cuda.manual_seed(1)
""",
    """
import torch

torch.cuda.manual_seed_all(1)
""",
)

_ALL_DEVICES = ("torch.manual_seed", "torch.cuda.manual_seed_all", "torch.xpu.manual_seed_all")


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find calls of ``cuda.manual_seed`` with nothing beside them that seeds all devices."""
    for call in module.calls("torch.cuda.manual_seed", "torch.xpu.manual_seed"):
        if not any(name in _ALL_DEVICES for _, name in calls_in(module, module.block(call))):
            yield call
