"""A global generator is reseeded outside the entry point.

Whoever calls this code loses the streams it stood on: what follows repeats the same numbers after
every call, and a scope around it no longer decides what is drawn. Seed once, with
rs.init(master_seed=...) at the start; where a section needs numbers of its own, write `with
rs.seeded(task="...", epoch=epoch):`, or draw from rs.stream("...").torch_generator(), which
touches nothing. In a project that uses scopes every such call is reported, also at the entry
point, since rs.init already seeds all libraries.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.flow import argument, is_none
from reproseed.lint.names import FUNCTIONS
from reproseed.lint.project import Project, last_part
from reproseed.lint.seeding import at_entry_point, global_seeds, in_test_file, isolated
from reproseed.lint.source import Module

LEVEL = "W"
BAD = (
    """
import torch as t

class Net(t.nn.Module):
    def __init__(self):
        super().__init__()
        t.manual_seed(0)
        self.fc = t.nn.Linear(4, 4)
""",
    """
import torch
import reproseed as rs

torch.manual_seed(1)
rs.init(master_seed=1)
""",
)
GOOD = (
    """
import torch

def main(args):
    torch.manual_seed(args.seed)
""",
    """
import torch

def preview(model):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return model.sample()
""",
)


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find reseeds that are neither at the entry point nor undone."""
    for call in global_seeds(module):
        if is_none(argument(call, 0, "seed", "a")) or isolated(module, call):
            continue
        if _for_workers(module, project, call) or (in_test_file(module)):
            continue
        if project.uses_reproseed or not at_entry_point(module, project, call):
            yield call


def _for_workers(module: Module, project: Project, call: ast.Call) -> bool:
    """Whether the call is in a function handed to loaders or to ``register_generator``."""
    around = [a for a in module.ancestors(call) if isinstance(a, (*FUNCTIONS, ast.Lambda))]
    for function in around:
        if isinstance(function, FUNCTIONS) and "worker" in function.name:
            return True
        parent = module.parent(function)
        if isinstance(parent, ast.keyword) and parent.arg == "worker_init_fn":
            return True
        if isinstance(parent, ast.Call) and last_part(parent.func) == "register_generator":
            return True
        if isinstance(function, FUNCTIONS) and function.name in _handed(project):
            return True
    return False


def _handed(project: Project) -> set[str]:
    """Names of functions given to loaders as ``worker_init_fn`` or registered."""
    names = {last_part(keyword.value) for _, keyword in project.keywords("worker_init_fn")}
    registered = project.methods("register_generator")
    return names | {last_part(a) for _, c in registered for a in c.args}
