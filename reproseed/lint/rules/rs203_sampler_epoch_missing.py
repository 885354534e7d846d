"""A DistributedSampler is never told the epoch.

Without set_epoch it yields the order of epoch 0 in every epoch. Call sampler.set_epoch(epoch)
before the loader is iterated; or use rs.data.seeded_loader(...), which shares samples out over
the ranks by itself and takes the epoch from the scope.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.flow import argument, is_literal, unpacks
from reproseed.lint.project import Project, last_part
from reproseed.lint.seeding import registered
from reproseed.lint.source import Module
from reproseed.lint.training import FRAMEWORKS, is_for_evaluation

LEVEL = "E"
WHOLE_PROJECT = True
BAD = (
    """
from torch.utils.data.distributed import DistributedSampler

def train(data, epochs):
    sampler = DistributedSampler(data)
    for epoch in range(epochs):
        run(sampler)
""",
)
GOOD = (
    """
from torch.utils.data.distributed import DistributedSampler

def train(data, epochs):
    sampler = DistributedSampler(data)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
""",
    """
from torch.utils.data.distributed import DistributedSampler

sampler = DistributedSampler(data, shuffle=False)
""",
)


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find shuffling distributed samplers in projects that nowhere call ``set_epoch``."""
    if project.methods("set_epoch") or project.imports & FRAMEWORKS:
        return
    for call in module.calls("torch.utils.data.DistributedSampler"):
        if unpacks(call) or is_literal(argument(call, 3, "shuffle"), False):
            continue
        statement = module.statement(call)
        name = last_part(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
        given = last_part(argument(call, 0, "dataset"))
        if is_for_evaluation(name) or is_for_evaluation(given):
            continue
        if not (name and registered(module, project, name)):
            yield call
