"""cuDNN picks its algorithms by timing them.

Which one wins changes from run to run, and with it the last bits of every convolution. Write
torch.backends.cudnn.benchmark = False, or rs.init(deterministic="error"), or `with
rs.deterministic():` around the part that must repeat.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.flags import chosen_by_user, stores
from reproseed.lint.flow import is_literal
from reproseed.lint.project import Project
from reproseed.lint.source import Module

LEVEL = "W"
BAD = (
    """
from torch.backends import cudnn

cudnn.benchmark = True
""",
)
GOOD = (
    """
import torch

torch.backends.cudnn.benchmark = False
""",
    """
import torch

if not args.deterministic:
    torch.backends.cudnn.benchmark = True
""",
)


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find ``benchmark = True`` that no option about determinism guards."""
    for target, value in stores(module, "torch.backends.cudnn.benchmark"):
        if is_literal(value, True) and not chosen_by_user(module, target):
            yield target
