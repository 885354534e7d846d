"""The clock decides how training goes on.

How many steps are taken, or when evaluation runs, then depends on the speed of the machine. Count
steps: `for step, batch in rs.steps(loader):`; where a time limit is needed, save rs.state_dict()
at it and resume.
"""

import ast
import re
from collections.abc import Iterator

from reproseed.lint.project import Project, last_part
from reproseed.lint.source import Module
from reproseed.lint.training import reads_time, trains

LEVEL = "W"
BAD = (
    """
import time

def fit(model, batches):
    start = time.time()
    while time.time() - start < 3600:
        model(next(batches)).backward()
""",
)
GOOD = (
    """
import time

def fit(model, batches):
    last = time.time()
    for batch in batches:
        model(batch).backward()
        if time.time() - last > 10:
            print("alive")
            last = time.time()
""",
)

_DECIDES = re.compile(r"train|step|eval|valid|stop|decay|set_|update|augment|lr|zero_grad", re.IGNORECASE)


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find conditions on the clock that end, skip or add something in a training loop."""
    for loop in module.nodes(ast.While):
        if reads_time(module, loop.test) and trains(loop):
            yield loop.test
    for branch in module.nodes(ast.If):
        loops = module.loops(branch)
        decides = any(_decides(n) for statement in branch.body for n in ast.walk(statement))
        if decides and any(trains(loop) for loop in loops) and reads_time(module, branch.test):
            yield branch.test


def _decides(node: ast.AST) -> bool:
    if isinstance(node, ast.Break | ast.Continue | ast.Return):
        return True
    return isinstance(node, ast.Call) and bool(_DECIDES.search(last_part(node.func)))
