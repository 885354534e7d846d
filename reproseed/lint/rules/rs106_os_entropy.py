"""A generator is seeded from the operating system's entropy.

Called without a seed, `seed()` makes the generator unrepeatable for the rest of the run. Pass a
seed; rs.init(master_seed=None) is the one place where a run may draw its seed, because it records
it.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.flow import argument, is_none, unpacks
from reproseed.lint.names import FUNCTIONS
from reproseed.lint.project import Project
from reproseed.lint.seeding import looks_like_generator
from reproseed.lint.source import Module

LEVEL = "E"
BAD = (
    """
import torch

torch.seed()
""",
    """
import random as r

r.seed(None)
""",
    """
import torch

g = torch.Generator()
g.seed()
""",
)
GOOD = (
    """
import random

random.seed(7)
""",
    """
import torch

seed = torch.seed()
print("seeded with", seed)
""",
)

_FRESH = (
    "torch.seed",
    "torch.cuda.seed",
    "torch.cuda.seed_all",
    "torch.mps.seed",
    "torch.xpu.seed",
)
_MAYBE = ("random.seed", "numpy.random.seed", "cupy.random.seed")


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find seeding without a seed whose value is thrown away."""
    for call in [*module.calls(*_FRESH, *_MAYBE), *module.methods("seed")]:
        name = module.resolve(call.func)
        if name not in (*_FRESH, *_MAYBE) and not _is_generator_method(module, call):
            continue
        # torch returns the seed it drew, so a call whose value is kept can be repeated.
        dropped = isinstance(module.parent(call), ast.Expr)
        # A function called `seed` passes the question on.
        around = [a for a in module.ancestors(call) if isinstance(a, FUNCTIONS)]
        wraps = any(function.name.startswith("seed") for function in around)
        if dropped and not wraps and not unpacks(call) and is_none(argument(call, 0, "seed", "a")):
            yield call


def _is_generator_method(module: Module, call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and looks_like_generator(module, call.func.value)
