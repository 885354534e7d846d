"""A generator is shared by all callers: a default argument, a class attribute or a global.

What one caller draws moves the numbers of every other, so the result depends on the order of
calls, and copies in loader workers all start alike. Make it where it is used, from
rs.stream("...") or from an argument, or register it with rs.register_generator.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.names import FUNCTIONS
from reproseed.lint.project import Project
from reproseed.lint.seeding import generator_calls, in_test_file, registered
from reproseed.lint.source import Module

LEVEL = "W"
BAD = (
    """
import numpy as np

def jitter(x, rng=np.random.default_rng(0)):
    return x + rng.normal()
""",
    """
import random

class Flip:
    rng = random.Random(0)
""",
    """
import numpy as np

RNG = np.random.default_rng(0)

def jitter(x):
    return x + RNG.normal()
""",
)
GOOD = (
    """
import numpy as np

def jitter(x, rng):
    return x + rng.normal()

rng = np.random.default_rng(0)
jitter(1.0, rng)
""",
)


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find generators that live as long as the module."""
    if in_test_file(module):
        return
    for call in generator_calls(module):
        if _is_default(module, call):
            yield call
            continue
        place = module.scope(call)
        name = _assigned(module, call)
        if not name or registered(module, project, name):
            continue
        if isinstance(place, ast.ClassDef) or (place is module.tree and _used_in_functions(module, name)):
            yield call


def _is_default(module: Module, call: ast.Call) -> bool:
    return any(isinstance(a, ast.arguments) for a in module.ancestors(call))


def _assigned(module: Module, call: ast.Call) -> str:
    for above in module.ancestors(call):
        if isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Name):
            return above.targets[0].id
        if isinstance(above, ast.AnnAssign) and isinstance(above.target, ast.Name):
            return above.target.id
        if isinstance(above, ast.Call) and above.func is not call and not _chained(above, call):
            return ""  # handed on, not kept
    return ""


def _chained(outer: ast.Call, call: ast.Call) -> bool:
    """Whether ``outer`` is ``call.method(...)``, such as ``Generator().manual_seed(0)``."""
    return isinstance(outer.func, ast.Attribute) and outer.func.value is call


def _used_in_functions(module: Module, name: str) -> bool:
    for node in module.nodes(ast.Name):
        if node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        function = module.function(node)
        # A local variable or a parameter of the same name is another thing.
        if function is not None and not _is_local(module, function, name):
            return True
    return False


def _is_local(module: Module, function: ast.AST, name: str) -> bool:
    around = [function, *(a for a in module.ancestors(function) if isinstance(a, FUNCTIONS))]
    return any(module.binds(f, name) for f in around)
