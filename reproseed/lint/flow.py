"""Small questions about expressions: arguments, where a value came from, whether it changes."""

import ast
import re
from collections.abc import Iterator

from reproseed.lint.source import Module

_TEXT_NAME = re.compile(r"(^|_)(name|path|file|filename|key|text|word|token|title|url|string|str|uid)s?$")
_PURE = frozenset(("builtins.int", "builtins.abs", "builtins.str", "builtins.float", "builtins.hash"))


def argument(call: ast.Call, position: int | None, *keywords: str) -> ast.expr | None:
    """The argument at a position or under one of the keywords; None if it is not given."""
    for keyword in call.keywords:
        if keyword.arg in keywords:
            return keyword.value
    if position is None or len(call.args) <= position:
        return None
    before = call.args[: position + 1]
    return None if any(isinstance(a, ast.Starred) for a in before) else call.args[position]


def unpacks(call: ast.Call) -> bool:
    """Whether a call has ``*args`` or ``**kwargs``, so that what it is given is not known."""
    return any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)


def is_literal(expression: ast.AST | None, *values: object) -> bool:
    """Whether an expression is a literal constant, of these values if any are named."""
    if isinstance(expression, ast.UnaryOp):
        expression = expression.operand
    if not isinstance(expression, ast.Constant):
        return False
    return not values or any(expression.value is v or expression.value == v for v in values)


def is_none(expression: ast.AST | None) -> bool:
    """Whether an expression is missing or the literal None."""
    return expression is None or (isinstance(expression, ast.Constant) and expression.value is None)


def text_of(node: ast.AST | None) -> str:
    """The dotted text of a name or attribute: ``self.loader``; ``""`` for anything else."""
    if isinstance(node, ast.Attribute):
        before = text_of(node.value)
        return f"{before}.{node.attr}" if before else ""
    return node.id if isinstance(node, ast.Name) else ""


def expand(module: Module, expression: ast.AST) -> Iterator[ast.AST]:
    """Every node of an expression and of all that its names were assigned, however indirectly.

    A name of which only a part is taken, as in ``config["seed"]``, is not followed.
    """
    seen: set[str] = set()
    waiting = [expression]
    while waiting:
        for node in ast.walk(waiting.pop()):
            yield node
            if isinstance(node, ast.Name) and node.id not in seen and not _taken_apart(module, node):
                seen.add(node.id)
                waiting.extend(module.values(node))


def _taken_apart(module: Module, name: ast.Name) -> bool:
    above = module.parent(name)
    return isinstance(above, ast.Attribute | ast.Subscript) and above.value is name


def names_in(node: ast.AST) -> set[str]:
    """Names that an expression reads."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def stored_in(node: ast.AST) -> set[str]:
    """Names and dotted attributes that a statement and its body assign."""
    return {
        text_of(n) for n in ast.walk(node) if isinstance(n, (ast.Name, ast.Attribute)) and isinstance(n.ctx, ast.Store)
    }


def calls_in(module: Module, node: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    """Calls below a node, each with its full name (``""`` if not known)."""
    for n in ast.walk(node):
        if isinstance(n, ast.Call):
            yield n, module.resolve(n.func)


def has_method(node: ast.AST, *names: str) -> bool:
    """Whether a method of one of these names is called below a node."""
    return any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in names for n in ast.walk(node)
    )


def is_fixed(module: Module, expression: ast.expr, around: ast.AST | None = None) -> bool:
    """Whether an expression has one value however often it is evaluated inside ``around``.

    Names that ``around`` assigns may change, and so may the result of any call that is not a plain
    conversion; attributes count as fixed unless assigned there.
    """
    changing = stored_in(around) if around is not None else set()
    for node in ast.walk(expression):
        if isinstance(node, ast.Call) and module.resolve(node.func) not in _PURE:
            return False
        if isinstance(node, (ast.Name, ast.Attribute)) and text_of(node) in changing:
            return False
    return True


def words(node: ast.AST) -> set[str]:
    """Lower-case words of all identifiers below a node: ``num_epochs`` gives two."""
    found: set[str] = set()
    for n in ast.walk(node):
        name = n.id if isinstance(n, ast.Name) else n.attr if isinstance(n, ast.Attribute) else ""
        found.update(name.lower().split("_"))
    return found - {""}


def enclosing_calls(module: Module, node: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    """Calls that an expression is (part of) an argument of, innermost first, up to its statement.

    Each comes with its full name, or the method's name after a dot.
    """
    child = node
    for above in module.ancestors(node):
        if isinstance(above, ast.stmt | ast.Lambda):
            return
        if isinstance(above, ast.Call) and child is not above.func:
            method = f".{above.func.attr}" if isinstance(above.func, ast.Attribute) else ""
            yield above, module.resolve(above.func) or method
        child = above


def is_text(module: Module, node: ast.expr) -> bool:
    """Whether an expression is a string, as far as its form and its name tell."""
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return True
    if isinstance(node, ast.Tuple):
        return any(is_text(module, part) for part in node.elts)
    if isinstance(node, ast.Call):
        called = _last(node.func)
        return module.resolve(node.func) == "builtins.str" or called in (
            "lower",
            "join",
            "strip",
            "format",
        )
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and bool(_TEXT_NAME.search(str(node.slice.value)))
    if isinstance(node, ast.BinOp):
        return is_text(module, node.left) or is_text(module, node.right)
    return bool(_TEXT_NAME.search(_last(node).lower())) or _last(node) == "stem"


def _last(node: ast.AST) -> str:
    return text_of(node).rpartition(".")[2] or (node.attr if isinstance(node, ast.Attribute) else "")
