"""The order of a set becomes a numbering or a list of data.

Sets of strings are ordered by a hash that differs from process to process: a vocabulary built
this way gives every run, and every resumed run, other indices. Write sorted(...) around the set,
or dict.fromkeys(items) to keep the order of first appearance.
"""

import ast
import re
from collections.abc import Iterator

from reproseed.lint.flow import expand, is_literal, is_text, names_in
from reproseed.lint.ordering import is_sorted_later, order_is_lost
from reproseed.lint.project import Project, last_part
from reproseed.lint.source import Module
from reproseed.lint.training import DATA_LIBRARIES

LEVEL = "W"
BAD = (
    """
vocabulary = {word: index for index, word in enumerate(set(words))}
""",
    """
import torch

chars = list(set(text))
""",
)
GOOD = (
    """
chars = sorted(list(set(text)))
""",
    """
vocabulary = {word: index for index, word in enumerate(dict.fromkeys(words))}
""",
    """
count = len(list(set(words)))
""",
)

_NAMED = re.compile(
    r"(^|_)(vocab|vocabulary|char|class|label|token|word|speaker|user|item|file|categor|tag|itos|stoi|"
    r"letter|genre|artist|entit|relation|term|patient|subject|kind|phoneme|class_name)"
    r"(s|es|y|ies)?$",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"(^|_)(idx|idxs|index|indexes|indices|ids?|num|nums|numbers|years|ranks|steps)$")
_KEEPS_ORDER = (
    "builtins.list",
    "builtins.tuple",
    "builtins.enumerate",
    "numpy.array",
    "numpy.asarray",
)

_SET_METHODS = ("union", "difference", "intersection", "symmetric_difference")
_SET_OPERATORS = (ast.Sub, ast.BitOr, ast.BitAnd, ast.BitXor)


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find sets that are numbered, or made a list under a name of data."""
    for call in module.calls(*_KEEPS_ORDER):
        if not call.args or not _is_set(module, call.args[0]) or _of_numbers(module, call.args[0]):
            continue
        if order_is_lost(module, call) or is_sorted_later(module, call):
            continue
        numbered = module.resolve(call.func) == "builtins.enumerate"
        in_training_code = bool(project.imports & DATA_LIBRARIES)
        if numbered or (in_training_code and _NAMED.search(_target(module, call))):
            yield call


def _is_set(module: Module, node: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
    if isinstance(node, ast.Set | ast.SetComp):
        return True
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in _SET_METHODS:
            return _is_set(module, node.func.value, seen)
        return module.resolve(node.func) in ("builtins.set", "builtins.frozenset")
    if isinstance(node, ast.BinOp) and isinstance(node.op, _SET_OPERATORS):
        return _is_set(module, node.left, seen) or _is_set(module, node.right, seen)
    if not isinstance(node, ast.Name) or node.id in seen:
        return False
    # `s = s.union(t)` says nothing of what `s` was before.
    values = [v for v in module.values(node) if node.id not in names_in(v)]
    return bool(values) and all(_is_set(module, v, seen | {node.id}) for v in values)


def _of_numbers(module: Module, node: ast.expr) -> bool:
    """Whether the members are surely integers, whose hash is their value."""
    for n in expand(module, node):
        if isinstance(n, ast.Call) and module.resolve(n.func) in ("builtins.range", "builtins.int"):
            return True
        if isinstance(n, ast.Set) and all(is_literal(e) and not is_text(module, e) for e in n.elts):
            return True
    return any(_NUMBERS.search(name) for name in names_in(node))


def _target(module: Module, call: ast.Call) -> str:
    statement = module.statement(call)
    if isinstance(statement, ast.Assign):
        return last_part(statement.targets[0])
    if isinstance(statement, ast.Return):
        function = module.function(call)
        return function.name if function else ""
    return last_part(statement.target) if isinstance(statement, ast.AnnAssign) else ""
