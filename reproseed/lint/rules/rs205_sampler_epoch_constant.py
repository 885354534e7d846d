"""set_epoch gets the same value in every epoch.

All epochs then have one order. Pass the number of the epoch: `for epoch in rs.epochs(n):
sampler.set_epoch(epoch)`; or use rs.data.seeded_loader(...), which takes it from the scope.
"""

import ast
import re
from collections.abc import Iterator

from reproseed.lint.flow import is_fixed, is_literal
from reproseed.lint.project import Project
from reproseed.lint.source import Module

LEVEL = "E"
BAD = (
    """
def train(loader, sampler, epochs):
    for epoch in range(epochs):
        sampler.set_epoch(0)
        run(loader)
""",
)
GOOD = (
    """
def train(loader, sampler, epochs):
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        run(loader)
""",
)

_EPOCH = re.compile(r"(^|_)epoch$")


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find ``set_epoch`` in a loop, or in a function given the epoch, with a value that stays."""
    for call in module.methods("set_epoch"):
        if len(call.args) != 1:
            continue
        value = call.args[0]
        loops = module.loops(call)
        function = module.function(call)
        given_epoch = function is not None and any(_EPOCH.search(a.arg) for a in function.args.args)
        if is_literal(value):
            if loops or given_epoch:
                yield call
        elif isinstance(value, ast.Name) and loops and all(is_fixed(module, value, lp) for lp in loops):
            yield call
