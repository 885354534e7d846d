"""CUBLAS_WORKSPACE_CONFIG is set too late or to a value that does not count.

cuBLAS reads it once, at its first call; later it changes nothing, and only ":4096:8" and ":16:8"
are accepted as deterministic. Set it before CUDA is used, best in the shell, or call
rs.init(deterministic="error") at the start, which sets it in time or says that it is too late.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.environment import settings
from reproseed.lint.flow import argument, is_literal
from reproseed.lint.project import Project
from reproseed.lint.source import Hit, Module

LEVEL = "W"
BAD = (
    """
import os

os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:2"
""",
    """
import os
import torch

model = torch.nn.Linear(4, 4).cuda()
os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
""",
)
GOOD = (
    """
import os

os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
import torch
model = torch.nn.Linear(4, 4).cuda()
""",
)

_VALUES = (":4096:8", ":16:8")


def check(module: Module, project: Project) -> Iterator[Hit]:
    """Find odd values, and settings below a use of CUDA in the same block or in a loop."""
    for place, value in settings(module, "CUBLAS_WORKSPACE_CONFIG"):
        if value is not None and is_literal(value) and not is_literal(value, *_VALUES):
            yield place, f"value {ast.unparse(value)}"
        elif module.loops(place) or _uses_cuda_before(module, place):
            yield place, "after CUDA was used"


def _uses_cuda_before(module: Module, place: ast.AST) -> bool:
    line = getattr(place, "lineno", 0)
    block = module.block(place)
    moves = [c for c in module.methods("cuda") if not module.resolve(c.func)]
    moves += [c for c in module.methods("to") if _names_cuda(module, c)]
    moves += module.calls("torch.cuda.init", "torch.cuda.synchronize")
    moves += [c for c in module.nodes(ast.Call) if is_literal(argument(c, None, "device"), "cuda", "cuda:0")]
    return any(c.lineno < line and module.block(c) is block for c in moves)


def _names_cuda(module: Module, call: ast.Call) -> bool:
    return any(
        isinstance(n, ast.Constant) and isinstance(n.value, str) and n.value.startswith("cuda")
        for a in (*call.args, *(k.value for k in call.keywords))
        for n in ast.walk(a)
    ) or any(isinstance(a, ast.Name) and a.id == "device" for a in call.args)
