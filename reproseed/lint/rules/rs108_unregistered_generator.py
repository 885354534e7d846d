"""A generator is kept on an object and never registered.

Scopes seed the global generators and those they know. This one goes on from wherever it stands:
its draws depend on how often it was used before, and a resumed run starts it from the beginning.
Register it, rs.register_generator(within=dataset) finds all that an object holds, or draw from
rs.stream("...").
"""

import ast
from collections.abc import Iterator

from reproseed.lint.project import Project, last_part
from reproseed.lint.seeding import generator_calls, registered
from reproseed.lint.source import Module

LEVEL = "W"
WHOLE_PROJECT = True
BAD = (
    """
import numpy as np
import reproseed as rs

class Noise:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

rs.init(master_seed=1)
""",
)
GOOD = (
    """
import numpy as np
import reproseed as rs

class Noise:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

rs.init(master_seed=1)
rs.register_generator(within=Noise(0))
""",
    """
import numpy as np

class Noise:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
""",
)


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find generators made in constructors of a project that uses scopes."""
    if not project.uses_reproseed:
        return
    for call in generator_calls(module):
        function = module.function(call)
        if function is None or function.name not in ("__init__", "__post_init__", "setup"):
            continue
        statement = module.statement(call)
        if not isinstance(statement, ast.Assign | ast.AnnAssign):
            continue
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        held = [t for t in targets if isinstance(t, ast.Attribute)]
        if held and not registered(module, project, last_part(held[0])):
            yield statement
