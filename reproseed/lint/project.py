"""All files of one call of the linter together: what a rule must know from beyond its own file.

A sampler made in ``data.py`` may get its ``set_epoch`` in ``train.py``; a rule that misses
something asks here before it speaks.
"""

import ast
import collections
import functools
from collections.abc import Sequence
from typing import Any

from reproseed.lint.names import Function
from reproseed.lint.source import Module

_SCOPE_NAMES = frozenset(
    f"reproseed.{name}" for name in ("init", "seeded", "seeded_epoch", "reseed", "epochs", "steps", "Seeder")
)


class Project:
    """The modules that are linted together."""

    def __init__(self, modules: Sequence[Module]) -> None:
        self.modules = tuple(modules)
        self._answers: dict[tuple[str, str], list[tuple[Module, Any]]] = {}

    @functools.cached_property
    def uses_reproseed(self) -> bool:
        """Whether any file opens a scope or starts a run of this library."""
        return any(
            self.decorated(module, function)
            for module in self.modules
            if "reproseed" in module.imports
            for function in module.functions()
        ) or any(self.called.intersection(_SCOPE_NAMES))

    @functools.cached_property
    def imports(self) -> frozenset[str]:
        """First parts of everything that any file imports."""
        return frozenset[str]().union(*(m.imports for m in self.modules))

    @functools.cached_property
    def called(self) -> frozenset[str]:
        """Full names of all resolved calls in any file."""
        return frozenset[str]().union(*(m.called for m in self.modules))

    def calls(self, *names: str) -> list[tuple[Module, ast.Call]]:
        """Calls of these full names, with the file each is in."""
        return [pair for name in names for pair in self._gather("calls", name)]

    def methods(self, *names: str) -> list[tuple[Module, ast.Call]]:
        """Method calls of these names, with the file each is in."""
        return [pair for name in names for pair in self._gather("methods", name)]

    def calls_named(self, *names: str) -> list[tuple[Module, ast.Call]]:
        """Calls of anything with one of these last names, with the file each is in."""
        return [pair for name in names for pair in self._gather("calls_named", name)]

    def attributes(self, name: str) -> list[tuple[Module, ast.Attribute]]:
        """All ``something.name``, with the file each is in."""
        return self._gather("attributes", name)

    def keywords(self, name: str) -> list[tuple[Module, ast.keyword]]:
        """All arguments ``name=...``, with the file each is in."""
        return self._gather("keywords", name)

    def _gather(self, question: str, name: str) -> list[tuple[Module, Any]]:
        if (question, name) not in self._answers:
            self._answers[question, name] = [
                (module, node) for module in self.modules for node in getattr(module, question)(name)
            ]
        return self._answers[question, name]

    def function(self, module: Module, node: ast.expr | None) -> tuple[Module, Function] | None:
        """The definition that a name refers to: in its own file, else the only one of that name."""
        name = last_part(node)
        here = [f for f in self._functions.get(name, ()) if f[0] is module]
        found = here or self._functions.get(name, [])
        return found[0] if len(found) == 1 else None

    def class_named(self, module: Module, node: ast.expr | None) -> tuple[Module, ast.ClassDef] | None:
        """The class that a name refers to, found as ``function`` finds one."""
        name = last_part(node)
        here = [c for c in self._classes.get(name, ()) if c[0] is module]
        found = here or self._classes.get(name, [])
        return found[0] if len(found) == 1 else None

    def decorated(self, module: Module, function: Function) -> bool:
        """Whether a function is a scope of this library by decoration."""
        return any(
            module.resolve(d.func if isinstance(d, ast.Call) else d)
            in ("reproseed.seeded", "reproseed.seeded_epoch", "reproseed.preserved")
            for d in function.decorator_list
        )

    @functools.cached_property
    def _functions(self) -> dict[str, list[tuple[Module, Function]]]:
        found: dict[str, list[tuple[Module, Function]]] = collections.defaultdict(list)
        for module in self.modules:
            for function in module.functions():
                found[function.name].append((module, function))
        return found

    @functools.cached_property
    def _classes(self) -> dict[str, list[tuple[Module, ast.ClassDef]]]:
        found: dict[str, list[tuple[Module, ast.ClassDef]]] = collections.defaultdict(list)
        for module in self.modules:
            for node in module.nodes(ast.ClassDef):
                found[node.name].append((module, node))
        return found


def last_part(node: ast.AST | None) -> str:
    """The last name of an expression: ``model`` of ``self.model``; empty for anything else.

    >>> last_part(ast.parse("self.model", mode="eval").body)
    'model'
    """
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
