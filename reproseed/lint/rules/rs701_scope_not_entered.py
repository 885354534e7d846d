"""A scope is made and never entered.

Constructing a scope does nothing: no generator was seeded and no flag was set. Write `with
rs.seeded(...):` around the code it is for; rs.reseed(task, epoch) seeds from here on, and
rs.init(deterministic="error") sets the flags for the whole run.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.project import Project
from reproseed.lint.source import Module

LEVEL = "E"
BAD = (
    """
import reproseed as rs

rs.init(master_seed=1)
rs.seeded(task="init")
model = build()
""",
    """
import reproseed

reproseed.deterministic()
""",
)
GOOD = (
    """
import reproseed as rs

rs.init(master_seed=1)
with rs.seeded(task="init"):
    model = build()
""",
    """
import reproseed as rs

evaluation = rs.seeded(task="eval", restore=True)
with evaluation:
    evaluate()
""",
)

_SCOPES = (
    "reproseed.seeded",
    "reproseed.seeded_epoch",
    "reproseed.preserved",
    "reproseed.deterministic",
    "reproseed.testing.watch_seeding",
)


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find scopes that are a statement of their own, or a name that nobody uses."""
    for call in module.calls(*_SCOPES):
        parent = module.parent(call)
        if isinstance(parent, ast.Expr) or (isinstance(parent, ast.Assign) and _is_unused(module, parent)):
            yield call


def _is_unused(module: Module, assign: ast.Assign) -> bool:
    target = assign.targets[0]
    if not isinstance(target, ast.Name) or module.function(assign) is None:
        return False  # others may import a global
    return not any(
        n.id == target.id and isinstance(n.ctx, ast.Load) and module.block(n) is module.block(assign)
        for n in module.nodes(ast.Name)
    )
