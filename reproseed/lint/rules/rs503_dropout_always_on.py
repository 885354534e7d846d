"""Functional dropout runs in evaluation as well.

F.dropout has training=True as its default and knows nothing of model.eval(): evaluation draws
random numbers and gives another result each time. Pass training=self.training, or use
torch.nn.Dropout.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.flow import argument, is_literal, unpacks
from reproseed.lint.names import FUNCTIONS
from reproseed.lint.project import Project
from reproseed.lint.source import Module

LEVEL = "W"
BAD = (
    """
import torch.nn.functional as F

def forward(self, x):
    return F.dropout(x, 0.5)
""",
)
GOOD = (
    """
import torch.nn.functional as F

def forward(self, x):
    return F.dropout(x, 0.5, training=self.training)
""",
)

_DROPOUTS = tuple(f"torch.nn.functional.{name}" for name in ("dropout", "dropout1d", "dropout2d", "dropout3d"))


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find functional dropout that is not told the mode."""
    for call in module.calls(*_DROPOUTS):
        off = is_literal(argument(call, 1, "p"), 0, 0.0)
        told = argument(call, 2, "training") is not None or unpacks(call)
        if not off and not told and not _under_training(module, call):
            yield call
    for call in module.calls("torch.nn.functional.scaled_dot_product_attention"):
        chance = argument(call, 4, "dropout_p")
        if is_literal(chance) and not is_literal(chance, 0, 0.0) and not _under_training(module, call):
            yield call


def _under_training(module: Module, call: ast.Call) -> bool:
    for above in module.ancestors(call):
        if isinstance(above, ast.If | ast.IfExp) and "training" in ast.unparse(above.test):
            return True
        if isinstance(above, FUNCTIONS):
            return False
    return False
