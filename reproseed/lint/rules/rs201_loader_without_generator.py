"""A shuffling DataLoader draws its order from the process's global generator.

Any draw before it changes the order of the data. Use rs.data.seeded_loader(...), same arguments,
whose order depends on run, task and epoch alone, or pass
generator=rs.stream("shuffle").torch_generator().
"""

import ast
from collections.abc import Iterator

from reproseed.lint.flow import argument, is_literal, is_none, unpacks
from reproseed.lint.project import Project
from reproseed.lint.source import Module
from reproseed.lint.training import FRAMEWORKS, LOADER

LEVEL = "I"
WHOLE_PROJECT = True
BAD = (
    """
import torch.utils.data as tud

loader = tud.DataLoader(data, batch_size=32, shuffle=True)
""",
)
GOOD = (
    """
import torch.utils.data as tud

loader = tud.DataLoader(data, batch_size=32, shuffle=True, generator=g)
""",
    """
import torch.utils.data as tud

loader = tud.DataLoader(data, batch_size=32)
""",
)


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find loaders with ``shuffle=True`` and no generator, in projects without scopes."""
    # Inside a scope the global generator stands on a stream of its own.
    if project.uses_reproseed or project.imports & FRAMEWORKS:
        return
    for call in module.calls(LOADER):
        shuffles = is_literal(argument(call, 2, "shuffle"), True)
        if shuffles and not unpacks(call) and is_none(argument(call, None, "generator")):
            yield call
