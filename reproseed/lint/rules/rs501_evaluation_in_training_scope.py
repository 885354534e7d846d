"""Validation data is iterated inside a training scope.

Starting the loader draws from training's stream, so how often one validates changes how one
trains. Decorate the function with @rs.seeded(task="eval", restore=True), or put the loop under
`with rs.seeded(task="eval", epoch=epoch):`, which gives training its stream back.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.names import FUNCTIONS, Function
from reproseed.lint.project import Project, last_part
from reproseed.lint.source import Module
from reproseed.lint.training import is_for_evaluation, is_loader, unwrapped

LEVEL = "W"
WHOLE_PROJECT = True
BAD = (
    """
import reproseed as rs

for epoch in rs.epochs(3):
    with rs.seeded(task="train", epoch=epoch):
        train(train_loader)
        for batch in val_loader:
            evaluate(batch)
""",
)
GOOD = (
    """
import reproseed as rs

for epoch in rs.epochs(3):
    with rs.seeded(task="train", epoch=epoch):
        train(train_loader)
        with rs.seeded(task="eval", epoch=epoch):
            for batch in val_loader:
                evaluate(batch)
""",
    """
import reproseed as rs

for epoch in rs.epochs(3):
    with rs.seeded(task="train", epoch=epoch):
        train(train_loader)
    for batch in val_loader:
        evaluate(batch)
""",
)

_SCOPES = ("reproseed.seeded", "reproseed.preserved")


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find loops over evaluation loaders in training scopes, also inside called functions."""
    for loop in module.for_loops():
        data = unwrapped(module, loop.iter)
        evaluates = _is_evaluation(module, data) and not _is_seeded_loader(module, data)
        if evaluates and _in_training(module, project, loop):
            yield loop.iter
    for call in module.nodes(ast.Call):
        handed = [a for a in (*call.args, *(k.value for k in call.keywords)) if _is_evaluation(module, a)]
        if handed and _in_training(module, project, call):
            found = project.function(module, call.func)
            if found and _iterates_bare(*found, project) and not _is_seeded_loader(module, handed[0]):
                yield call


def _is_evaluation(module: Module, node: ast.expr) -> bool:
    return is_for_evaluation(last_part(node)) and is_loader(module, node)


def _in_training(module: Module, project: Project, node: ast.AST) -> bool:
    """Whether the innermost scope around a node is one of training."""
    for above in module.ancestors(node):
        if isinstance(above, ast.With | ast.AsyncWith):
            for item in above.items:
                call = item.context_expr
                if isinstance(call, ast.Call) and module.resolve(call.func) in _SCOPES:
                    return _is_training(module, call)
        if isinstance(above, FUNCTIONS):
            scopes = [
                d
                for d in above.decorator_list
                if module.resolve(d.func if isinstance(d, ast.Call) else d) in (*_SCOPES, "reproseed.seeded_epoch")
            ]
            return any(_is_training(module, scope) for scope in scopes)
    return False


def _is_training(module: Module, scope: ast.expr) -> bool:
    if not isinstance(scope, ast.Call):
        return True  # a bare seeded_epoch has the training task
    for keyword in scope.keywords:
        if keyword.arg == "task":
            return "train" in ast.unparse(keyword.value).lower() or ast.unparse(keyword.value) == "1"
    return module.resolve(scope.func) == "reproseed.seeded_epoch"


def _iterates_bare(module: Module, function: Function, project: Project) -> bool:
    """Whether a function loops over one of its parameters with no scope of its own."""
    if project.decorated(module, function):
        return False
    given = {a.arg for a in function.args.args}
    inner = [c for c in module.calls(*_SCOPES) if module.function(c) is function]
    loops = [n for n in ast.walk(function) if isinstance(n, ast.For)]
    return not inner and any(last_part(unwrapped(module, loop.iter)) in given for loop in loops)


def _is_seeded_loader(module: Module, node: ast.expr) -> bool:
    node = unwrapped(module, node)
    return isinstance(node, ast.Name) and any(
        isinstance(v, ast.Call) and module.resolve(v.func) == "reproseed.data.seeded_loader"
        for v in module.values(node)
    )
