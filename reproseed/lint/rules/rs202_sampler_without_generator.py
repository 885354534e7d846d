"""A random sampler or split draws from the process's global generator.

Any draw before it changes which samples come, or land in which part. Pass a generator:
random_split(data, [0.8, 0.2], generator=rs.stream("split", shared=True).torch_generator()).
"""

import ast
from collections.abc import Iterator

from reproseed.lint.flow import argument, is_none, unpacks
from reproseed.lint.project import Project
from reproseed.lint.source import Module

LEVEL = "I"
WHOLE_PROJECT = True
BAD = (
    """
from torch.utils.data import random_split

train, val = random_split(data, [0.8, 0.2])
""",
)
GOOD = (
    """
from torch.utils.data import random_split
import reproseed as rs

generator = rs.stream("split", shared=True).torch_generator()
train, val = random_split(data, [0.8, 0.2], generator=generator)
""",
)

# The position of `generator` in each signature.
_DRAWING = {
    "random_split": 2,
    "RandomSampler": 3,
    "SubsetRandomSampler": 1,
    "WeightedRandomSampler": 3,
}


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find samplers and splits without a generator, in projects without scopes."""
    if project.uses_reproseed:
        return
    for name, position in _DRAWING.items():
        for call in module.calls(f"torch.utils.data.{name}"):
            if not unpacks(call) and is_none(argument(call, position, "generator")):
                yield call
