"""set_epoch is called after the loader has started.

The order of an epoch is fixed when its iterator is made; a later set_epoch takes effect one epoch
late, so the first two epochs are alike. Call it before the loop over the loader.
rs.data.seeded_loader(...) needs no set_epoch inside a scope.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.project import Project
from reproseed.lint.source import Module
from reproseed.lint.training import is_loader

LEVEL = "E"
BAD = (
    """
def train(loader, sampler, epochs):
    for epoch in range(epochs):
        for batch in loader:
            step(batch)
        sampler.set_epoch(epoch)
""",
)
GOOD = (
    """
def train(loader, sampler, epochs):
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for batch in loader:
            step(batch)
""",
    """
def train(loader, sampler, epochs):
    for epoch in range(epochs):
        for batch in loader:
            step(batch)
        sampler.set_epoch(epoch + 1)
""",
)


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find ``set_epoch(epoch)`` inside or after the loop over the loader, with none before it."""
    for call in module.methods("set_epoch"):
        if not call.args or isinstance(call.args[0], ast.BinOp):
            continue  # epoch + 1 prepares the next epoch
        loops = module.loops(call)
        if any(isinstance(loop, ast.For) and is_loader(module, loop.iter) for loop in loops):
            yield call
        elif loops and isinstance(loops[0], ast.For):
            starts = [
                s.lineno
                for s in ast.walk(loops[0])
                if isinstance(s, ast.For | ast.AsyncFor | ast.Call) and _starts_iterating(module, s)
            ]
            before = [c for c in module.methods("set_epoch") if c.lineno < min(starts, default=0)]
            inside = [c for c in before if c.lineno > loops[0].lineno]
            if starts and min(starts) < call.lineno and not inside:
                yield call


def _starts_iterating(module: Module, node: ast.For | ast.AsyncFor | ast.Call) -> bool:
    if not isinstance(node, ast.Call):
        return is_loader(module, node.iter)
    return module.resolve(node.func) == "builtins.iter" and bool(node.args) and is_loader(module, node.args[0])
