"""One parsed file with what the rules ask of it: nodes by type, parents, names and assignments.

The tree is walked once; every question after that is a look-up. Names are resolved by scope, so
that a parameter called ``random`` is not the module of that name.
"""

import ast
import collections
import functools
import io
import warnings
from collections.abc import Iterable, Iterator
from typing import TypeAlias, TypeVar

from reproseed.lint.names import BINDING, FUNCTIONS, SCOPES, Function, Loop, Names, canonical
from reproseed.lint.suppressions import Suppressions

N = TypeVar("N", bound=ast.AST)
Hit: TypeAlias = ast.AST | tuple[ast.AST, str]


class Module:
    """A file that parsed.

    Args:
        path: how findings name the file.
        text: its source.
        tree: the parsed source, when the caller has it.

    Raises:
        SyntaxError, ValueError, RecursionError: the text is no Python that this interpreter parses.
    """

    def __init__(self, path: str, text: str, tree: ast.Module | None = None) -> None:
        self.path = path
        self.text = text
        self.tree = _parse(text) if tree is None else tree
        self._parents: dict[ast.AST, ast.AST] = {}
        self._by_type: dict[type, list[ast.AST]] = collections.defaultdict(list)
        self._names = Names()
        self._walk()

    @functools.cached_property
    def suppressions(self) -> Suppressions:
        """The comments of this file that silence findings."""
        return Suppressions.read(self.text)

    def characters(self, line: int, column: int) -> int:
        """A column in characters, from the UTF-8 bytes that ``ast`` counts."""
        lines = self._lines
        if self._ascii or not 0 < line <= len(lines):
            return column
        return len(lines[line - 1].encode()[:column].decode(errors="replace"))

    @functools.cached_property
    def _lines(self) -> list[str]:
        return io.StringIO(self.text).readlines()

    @functools.cached_property
    def _ascii(self) -> bool:
        return self.text.isascii()

    # -- the tree ----------------------------------------------------------------------------------

    def nodes(self, *types: type[N]) -> Iterator[N]:
        """All nodes of the given types, in source order per type."""
        for kind in types:
            yield from self._by_type.get(kind, ())  # type: ignore[misc]  # the index is keyed by type

    def functions(self) -> Iterator[Function]:
        """All function definitions, methods included."""
        yield from self.nodes(ast.FunctionDef)
        yield from self.nodes(ast.AsyncFunctionDef)

    def for_loops(self) -> Iterator[ast.For | ast.AsyncFor]:
        """All ``for`` loops."""
        yield from self.nodes(ast.For)
        yield from self.nodes(ast.AsyncFor)

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node that directly holds ``node``; None for the module."""
        return self._parents.get(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """All nodes around ``node``, innermost first."""
        above = self._parents.get(node)
        while above is not None:
            yield above
            above = self._parents.get(above)

    def scope(self, node: ast.AST) -> ast.AST:
        """The function, lambda, class or module whose names ``node`` sees first."""
        return next((a for a in self.ancestors(node) if isinstance(a, SCOPES)), self.tree)

    def function(self, node: ast.AST) -> Function | None:
        """The function around ``node``, or None at module or class level."""
        return next((a for a in self.ancestors(node) if isinstance(a, FUNCTIONS)), None)

    def owner(self, node: ast.AST) -> ast.ClassDef | None:
        """The class around ``node``."""
        return next((a for a in self.ancestors(node) if isinstance(a, ast.ClassDef)), None)

    def block(self, node: ast.AST) -> ast.AST:
        """The function around ``node``, else the module: where one reads on."""
        return self.function(node) or self.tree

    def loops(self, node: ast.AST) -> list[Loop]:
        """The loops that repeat ``node`` inside its function, innermost first."""
        found: list[Loop] = []
        child = node
        for above in self.ancestors(node):
            if isinstance(above, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
                break
            # The iterable of a `for` is evaluated once.
            if isinstance(above, ast.While) or (isinstance(above, ast.For | ast.AsyncFor) and child in above.body):
                found.append(above)
            child = above
        return found

    def statement(self, node: ast.AST) -> ast.AST:
        """The statement that holds ``node``."""
        if isinstance(node, ast.stmt):
            return node
        return next((a for a in self.ancestors(node) if isinstance(a, ast.stmt)), self.tree)

    # -- names -------------------------------------------------------------------------------------

    def resolve(self, node: ast.AST | None) -> str:
        """The full dotted name that an expression stands for, through imports and plain aliases.

        ``t.manual_seed`` under ``import torch as t`` is ``"torch.manual_seed"``; a builtin that
        nobody rebinds is ``"builtins.sorted"``; anything else, such as an attribute of an object,
        is ``""``.
        """
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        root = self._names.lookup(node.id, self.ancestors(node))
        return canonical(".".join([root, *reversed(parts)])) if root else ""

    def values(self, name: ast.Name) -> list[ast.expr]:
        """Every expression assigned to ``name`` in the scope that it belongs to."""
        return self._names.values(name.id, self.ancestors(name))

    def binds(self, scope: ast.AST, name: str) -> bool:
        """Whether a function, class or module gives ``name`` a meaning of its own."""
        return self._names.binds(scope, name)

    def calls(self, *names: str) -> Iterator[ast.Call]:
        """Calls of the functions or classes with these full names."""
        for name in names:
            yield from self._calls.get(name, ())

    def methods(self, *names: str) -> Iterator[ast.Call]:
        """Calls ``something.name(...)``, whatever the something is."""
        for call in self.calls_named(*names):
            if isinstance(call.func, ast.Attribute):
                yield call

    def calls_named(self, *names: str) -> Iterator[ast.Call]:
        """Calls ``name(...)`` and ``something.name(...)``."""
        for name in names:
            yield from self._calls_named.get(name, ())

    def attributes(self, name: str) -> list[ast.Attribute]:
        """All ``something.name``."""
        return self._attributes.get(name, [])

    def keywords(self, name: str) -> list[ast.keyword]:
        """All arguments ``name=...`` of calls."""
        return self._keywords.get(name, [])

    @functools.cached_property
    def imports(self) -> frozenset[str]:
        """The first parts of everything imported: ``{"torch", "os"}``."""
        names = {alias.name.split(".")[0] for n in self.nodes(ast.Import) for alias in n.names}
        return frozenset(names | {(n.module or "").split(".")[0] for n in self.nodes(ast.ImportFrom) if not n.level})

    @functools.cached_property
    def _calls(self) -> dict[str, list[ast.Call]]:
        named = ((self.resolve(c.func), c) for c in self.nodes(ast.Call))
        return _grouped((name, call) for name, call in named if name)

    @functools.cached_property
    def _calls_named(self) -> dict[str, list[ast.Call]]:
        return _grouped((_last_name(c.func), c) for c in self.nodes(ast.Call))

    @functools.cached_property
    def _attributes(self) -> dict[str, list[ast.Attribute]]:
        return _grouped((a.attr, a) for a in self.nodes(ast.Attribute))

    @functools.cached_property
    def _keywords(self) -> dict[str, list[ast.keyword]]:
        return _grouped((k.arg or "**", k) for k in self.nodes(ast.keyword))

    @functools.cached_property
    def called(self) -> frozenset[str]:
        """Full names of all resolved calls."""
        return frozenset(self._calls)

    # -- the one walk ------------------------------------------------------------------------------

    def _walk(self) -> None:
        stack: list[tuple[ast.AST, ast.AST]] = [(self.tree, self.tree)]
        aliases: list[tuple[ast.AST, ast.Assign]] = []
        while stack:
            node, scope = stack.pop()
            self._by_type[type(node)].append(node)
            if type(node) in BINDING:
                self._names.add(node, scope)
            if isinstance(node, ast.Assign):
                aliases.append((scope, node))
            inner = node if isinstance(node, SCOPES) else scope
            for child in _children(node):
                self._parents[child] = node
                stack.append((child, inner))
        for scope, assign in aliases:
            self._alias(scope, assign)

    def _alias(self, scope: ast.AST, assign: ast.Assign) -> None:
        """``seed = torch.manual_seed`` makes ``seed`` another name of it."""
        target = assign.targets[0]
        full_name = self.resolve(assign.value)
        if full_name and isinstance(target, ast.Name):
            self._names.alias(scope, target.id, full_name)


def _parse(text: str) -> ast.Module:
    with warnings.catch_warnings():  # an invalid escape in their file is no concern of ours
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below, last first.

    Contexts and operators are left out: all nodes share them, so they have no parent of their own.
    """
    found: list[ast.AST] = []
    for field in reversed(node._fields):
        if field in ("ctx", "op", "ops"):
            continue
        value = getattr(node, field, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif isinstance(value, list):
            found += [item for item in reversed(value) if isinstance(item, ast.AST)]
    return found


def _grouped(pairs: Iterable[tuple[str, N]]) -> dict[str, list[N]]:
    groups: dict[str, list[N]] = collections.defaultdict(list)
    for name, node in pairs:
        groups[name].append(node)
    return groups


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
