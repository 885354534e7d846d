"""Assignments to torch's backend flags, and whether an option of the user guards them."""

import ast
import re
from collections.abc import Iterator

from reproseed.lint.names import FUNCTIONS
from reproseed.lint.source import Module

_ABOUT_DETERMINISM = re.compile(r"determin|reprod|seed|benchmark", re.IGNORECASE)


def stores(module: Module, *names: str) -> Iterator[tuple[ast.Attribute, ast.expr]]:
    """Assignments to attributes with these full names, each with the value."""
    for assign in module.nodes(ast.Assign):
        for target in assign.targets:
            if isinstance(target, ast.Attribute) and module.resolve(target) in names:
                yield target, assign.value


def chosen_by_user(module: Module, node: ast.AST) -> bool:
    """Whether an ``if`` about determinism, seeds or benchmarks decides over ``node``."""
    for above in module.ancestors(node):
        if isinstance(above, ast.If) and _ABOUT_DETERMINISM.search(ast.unparse(above.test)):
            return True
        if isinstance(above, FUNCTIONS):
            return False
    return False


def is_put_back(module: Module, node: ast.AST) -> bool:
    """Whether ``node`` stands in a ``finally`` or ``__exit__``: the end of a scope made by hand."""
    child = node
    for above in module.ancestors(node):
        if isinstance(above, ast.Try) and child in above.finalbody:
            return True
        if isinstance(above, FUNCTIONS):
            return above.name in ("__exit__", "tearDown", "teardown_method", "tearDownClass")
        child = above
    return False
