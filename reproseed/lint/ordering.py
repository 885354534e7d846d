"""Whether an order that nobody promised reaches a result."""

import ast
import re

from reproseed.lint.flow import enclosing_calls
from reproseed.lint.project import last_part
from reproseed.lint.source import Module

# Results of these do not depend on the order of what they are given.
_ORDERLESS = frozenset(
    f"builtins.{name}" for name in ("sorted", "set", "frozenset", "len", "any", "all", "max", "min", "sum", "bool")
) | {"collections.Counter", "natsort.natsorted", "numpy.sort", "numpy.unique", "natsort.os_sorted"}
_GROWING = ("append", "extend", "write", "writelines", "writerow")
_REPORT = re.compile(r"err|fail|missing|skip|log|warn|problem|issue|stdout|bar", re.IGNORECASE)
_SORTERS = ("sorted", "natsorted", "sort", "argsort", "os_sorted", "humansorted", "sort_values")


def order_is_lost(module: Module, node: ast.AST) -> bool:
    """Whether an enclosing call or comparison makes the order of ``node`` irrelevant."""
    for _, name in enclosing_calls(module, node):
        if name in _ORDERLESS or name.rpartition(".")[2] in ("sorted", "natsorted", "isdisjoint"):
            return True
    for above in module.ancestors(node):
        if isinstance(above, ast.SetComp) or (
            isinstance(above, ast.Compare) and any(isinstance(o, ast.In | ast.NotIn) for o in above.ops)
        ):
            return True
        if isinstance(above, ast.If | ast.While) and node in _test_nodes(above):
            return True
        if isinstance(above, ast.stmt):
            break
    return False


def is_sorted_later(module: Module, node: ast.AST) -> bool:
    """Whether something is sorted after ``node`` in its function; of ``__init__``, in its class."""
    function = module.function(node)
    around: ast.AST = function or module.tree
    owner = module.owner(node)
    if owner is not None and function is not None and function.name == "__init__":
        around = owner
    line = getattr(node, "lineno", 0)
    return any(
        isinstance(n, ast.Call)
        and last_part(n.func) in _SORTERS
        and (n.lineno >= line or around is owner)
        and _same_block(module, n, around)
        for n in ast.walk(around)
    )


def grows_list(loop: ast.AST) -> bool:
    """Whether a loop appends, yields or writes: keeps the order in which it runs."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        grows = isinstance(node, ast.Attribute) and node.attr in _GROWING
        if grows and not _REPORT.search(ast.unparse(node)):
            return True
    return False


def _test_nodes(statement: ast.If | ast.While) -> list[ast.AST]:
    return list(ast.walk(statement.test))


def _same_block(module: Module, node: ast.AST, around: ast.AST) -> bool:
    """At module level, what functions sort does not count."""
    return not isinstance(around, ast.Module) or module.block(node) is around
