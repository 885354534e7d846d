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
from reproseed.lint.project import Project, last_part
from reproseed.lint.seeding import at_entry_point, global_seeds, in_test_file, isolated
from reproseed.lint.source import Module
from reproseed.lint.workers import worker_functions

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
    exempt = {*worker_functions(module, project), *_registered(module)}
    for call in global_seeds(module):
        if is_none(argument(call, 0, "seed", "a")) or isolated(module, call):
            continue
        if in_test_file(module) or not exempt.isdisjoint(module.ancestors(call)):
            continue
        if project.uses_reproseed or not at_entry_point(module, project, call):
            yield call


def _registered(module: Module) -> Iterator[ast.AST]:
    """Functions and lambdas that are registered, so that scopes call them with a seed."""
    handed = [a for c in module.methods("register_generator") for a in c.args]
    handed += [a for c in module.calls("reproseed.register_generator") for a in c.args]
    names = {last_part(a) for a in handed}
    yield from handed
    yield from (f for f in module.functions() if f.name in names)
