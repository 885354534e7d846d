"""Assignments to environment variables, in the forms people write them."""

import ast
from collections.abc import Iterator

from reproseed.lint.source import Module


def settings(module: Module, variable: str) -> Iterator[tuple[ast.AST, ast.expr | None]]:
    """Places that set an environment variable, each with the value if it can be read."""
    for subscript in module.nodes(ast.Subscript):
        if not isinstance(subscript.ctx, ast.Store) or module.resolve(subscript.value) != "os.environ":
            continue
        if isinstance(subscript.slice, ast.Constant) and subscript.slice.value == variable:
            statement = module.statement(subscript)
            yield subscript, statement.value if isinstance(statement, ast.Assign) else None
    for call in module.calls("os.environ.setdefault", "os.putenv", "os.environ.update"):
        if any(isinstance(a, ast.Constant) and a.value == variable for a in call.args):
            yield call, call.args[1] if len(call.args) > 1 else None
        for keyword in call.keywords:
            if keyword.arg == variable:
                yield call, keyword.value
        for node in ast.walk(call):
            if isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == variable:
                        yield call, value
