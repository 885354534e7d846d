"""A generator is made without a seed.

NumPy's and Python's then take one from the operating system, which nobody records;
torch.Generator() starts every time with one built-in constant that ignores the run's seed. Make
it from a stream, rs.stream("augment").numpy_generator() (or .torch_generator(),
.python_random()), or register it with rs.register_generator(rng) so that scopes seed it.
"""

import ast
import re
from collections.abc import Iterator

from reproseed.lint.flow import argument, is_none, text_of, unpacks
from reproseed.lint.names import FUNCTIONS
from reproseed.lint.project import Project, last_part
from reproseed.lint.seeding import registered
from reproseed.lint.source import Module

LEVEL = "W"
WHOLE_PROJECT = True
BAD = (
    """
from numpy.random import default_rng

rng = default_rng()
""",
    """
import torch
from torch.utils.data import DataLoader

g = torch.Generator()
loader = DataLoader(data, shuffle=True, generator=g)
""",
)
GOOD = (
    """
from numpy.random import default_rng

rng = default_rng(7)
""",
    """
import torch

g = torch.Generator()
g.manual_seed(7)
""",
    """
import numpy as np
import reproseed as rs

rng = np.random.default_rng()
rs.register_generator(rng)
""",
)

_SECRET = re.compile(r"secret|token|password|key|nonce|uuid|salt|temp|unique", re.IGNORECASE)
_SEEDS = ("manual_seed", "seed", "set_state", "setstate", "clone_state")


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find generators that get no seed anywhere in sight."""
    for call in module.calls("numpy.random.default_rng", "numpy.random.RandomState", "random.Random"):
        unseeded = is_none(argument(call, 0, "seed", "x")) and not unpacks(call)
        if unseeded and not _is_excused(module, project, call):
            yield call
    for call in module.calls("random.SystemRandom"):
        if not _SECRET.search(ast.unparse(module.block(call))):
            yield call
    for call in module.calls("torch.Generator"):
        held = _name(module, call)
        if held and not _is_excused(module, project, call):
            yield call


def _is_excused(module: Module, project: Project, call: ast.Call) -> bool:
    return _is_fallback(module, call) or _is_seeded_later(module, project, call)


def _name(module: Module, call: ast.Call) -> str:
    """What the generator is assigned to; empty if it is used in place."""
    statement = module.parent(call)
    if isinstance(statement, ast.Assign):
        return text_of(statement.targets[0])
    if isinstance(statement, ast.AnnAssign):
        return text_of(statement.target)
    return "generator=" if isinstance(statement, ast.keyword) and statement.arg == "generator" else ""


def _is_fallback(module: Module, call: ast.Call) -> bool:
    """Whether it stands in for an argument left out, as in ``rng or default_rng()``."""
    for above in module.ancestors(call):
        if isinstance(above, ast.BoolOp | ast.IfExp):
            return True
        if isinstance(above, ast.If) and "None" in ast.unparse(above.test):
            return True
        if isinstance(above, FUNCTIONS):
            return False
    return False


def _is_handed_to_seeder(module: Module, name: str) -> bool:
    """Whether a function with a name about seeds gets the generator, as ``seed_all(g, 3)`` does."""
    return any(
        last_part(given) == name
        for call in module.nodes(ast.Call)
        if "seed" in last_part(call.func)
        for given in call.args
    )


def _is_seeded_later(module: Module, project: Project, call: ast.Call) -> bool:
    parent = module.parent(call)
    if isinstance(parent, ast.Call) and last_part(parent.func) == "register_generator":
        return True
    name = _name(module, call)
    last = name.rpartition(".")[2]
    if not last or name == "generator=":
        return False
    if registered(module, project, last) or _is_handed_to_seeder(module, last):
        return True
    return any(
        isinstance(c.func, ast.Attribute) and last_part(c.func.value) == last for _, c in project.methods(*_SEEDS)
    ) or any(
        isinstance(a.value, ast.Attribute) and last_part(a.value) == last
        for a in module.nodes(ast.Attribute)
        if a.attr == "state" and isinstance(a.ctx, ast.Store)
    )
