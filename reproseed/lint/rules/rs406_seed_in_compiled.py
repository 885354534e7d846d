"""A compiled function seeds or opens a scope.

torch.compile breaks the graph there, fails under fullgraph=True, and may inline past a scope
without a word. Seed outside: open `with rs.seeded(...)` around the call of the compiled function.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.flow import calls_in
from reproseed.lint.project import Project, last_part
from reproseed.lint.seeding import GLOBAL_SEEDS
from reproseed.lint.source import Module

LEVEL = "W"
SUPERSEDES = ("RS101",)
BAD = (
    """
import torch

@torch.compile
def step(x):
    torch.manual_seed(0)
    return x * torch.rand_like(x)
""",
)
GOOD = (
    """
import torch
import reproseed as rs

@torch.compile
def step(x):
    return x * torch.rand_like(x)

with rs.seeded(master_seed=0):
    step(torch.ones(4))
""",
)

_SEEDING = GLOBAL_SEEDS | {
    "torch.set_rng_state",
    "torch.random.fork_rng",
    "reproseed.seeded",
    "reproseed.reseed",
    "reproseed.preserved",
}


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find seeding in functions and in ``forward`` of classes that are compiled."""
    for function in _compiled(module):
        decorators = function.decorator_list
        for call, name in calls_in(module, function):
            if name in _SEEDING and module.function(call) is function and call not in decorators:
                yield call


def _compiled(module: Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    names = set()
    for call in module.calls("torch.compile"):
        for argument in call.args:
            made = argument
            if isinstance(made, ast.Name):
                values = module.values(made)
                made = values[0] if values else made
            names.add(last_part(made.func if isinstance(made, ast.Call) else made))
    for function in module.functions():
        owner = module.owner(function)
        by_decorator = any(
            module.resolve(d.func if isinstance(d, ast.Call) else d) == "torch.compile" for d in function.decorator_list
        )
        forward = owner is not None and owner.name in names and function.name == "forward"
        if by_decorator or forward or (owner is None and function.name in names):
            yield function
