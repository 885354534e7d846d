"""A model is put into evaluation mode and trains on in it.

After model.eval() dropout is off and BatchNorm's statistics stand still until model.train() is
called; from the second epoch on, training is another training. Call model.train() at the start of
each training epoch.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.flow import argument, is_literal
from reproseed.lint.names import Loop
from reproseed.lint.project import Project
from reproseed.lint.source import Module
from reproseed.lint.training import trains

LEVEL = "W"
WHOLE_PROJECT = True
BAD = (
    """
def fit(model, loader, val_loader):
    for epoch in range(10):
        for batch in loader:
            model(batch).backward()
        model.eval()
        validate(model, val_loader)
""",
)
GOOD = (
    """
def fit(model, loader, val_loader):
    for epoch in range(10):
        model.train()
        for batch in loader:
            model(batch).backward()
        model.eval()
        validate(model, val_loader)
""",
    """
def predict(model, batches):
    model.eval()
    return [model(batch) for batch in batches]
""",
)


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find ``eval()`` repeated together with a backward pass and never taken back."""
    for call in module.methods("eval"):
        if call.args or call.keywords or module.resolve(call.func):
            continue
        loops = [loop for loop in module.loops(call) if _trains(module, project, loop)]
        if loops and not any(_returns_to_training(module, project, loop) for loop in loops):
            yield call
    # An evaluation function, called from a training loop of the same project.
    if any(not is_literal(argument(c, 0, "mode"), False) for _, c in project.methods("train")):
        return
    for function in module.functions():
        evals = [c for c in module.methods("eval") if module.function(c) is function and not c.args]
        if evals and not trains(function) and _called_in_training(module, project, function.name):
            yield evals[0]


def _trains(module: Module, project: Project, loop: Loop) -> bool:
    return trains(loop) or any(trains(f) for _, f in _called(module, project, loop))


def _returns_to_training(module: Module, project: Project, loop: Loop) -> bool:
    bodies = [loop, *(f for _, f in _called(module, project, loop))]
    return any(
        isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and n.func.attr == "train"
        and not is_literal(argument(n, 0, "mode"), False)
        for body in bodies
        for n in ast.walk(body)
    )


def _called(
    module: Module, project: Project, loop: Loop
) -> Iterator[tuple[Module, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in ast.walk(loop):
        if isinstance(node, ast.Call) and (found := project.function(module, node.func)):
            yield found


def _called_in_training(module: Module, project: Project, name: str) -> bool:
    return any(_trains(other, project, loop) for other, call in project.calls_named(name) for loop in other.loops(call))
