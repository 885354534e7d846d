"""What names mean, scope by scope: imports, assignments, plain aliases.

A parameter called ``random`` is not the module of that name. Nothing is imported or executed.
"""

import ast
import builtins
import collections
from collections.abc import Iterable
from typing import TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Loop: TypeAlias = ast.For | ast.AsyncFor | ast.While

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef, ast.Module)
_ASSIGNING = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.withitem)
_ITERATING = (ast.For, ast.AsyncFor, ast.comprehension)
_NAMING = (ast.Name, ast.arg, ast.Import, ast.ImportFrom, *FUNCTIONS, ast.ClassDef)
BINDING = frozenset((*_ASSIGNING, *_ITERATING, *_NAMING))

# Where a public name of torch, NumPy or a framework may also be imported from.
_HOMES = (
    ("torch.cuda.random.", "torch.cuda."),
    ("torch.random.manual_seed", "torch.manual_seed"),
    ("torch.random.seed", "torch.seed"),
    ("torch.random.initial_seed", "torch.initial_seed"),
    ("torch.random.get_rng_state", "torch.get_rng_state"),
    ("torch.random.set_rng_state", "torch.set_rng_state"),
    ("torch.utils.data.dataloader.", "torch.utils.data."),
    ("torch.utils.data.dataset.", "torch.utils.data."),
    ("torch.utils.data.distributed.", "torch.utils.data."),
    ("torch.utils.data.sampler.", "torch.utils.data."),
    ("numpy.random.mtrand.", "numpy.random."),
    ("pytorch_lightning.", "lightning.pytorch."),
    ("lightning.fabric.", "lightning.pytorch."),
    ("lightning.seed_everything", "lightning.pytorch.seed_everything"),
    ("reproseed.scopes.", "reproseed."),
    ("reproseed.run.", "reproseed."),
)


class Names:
    """The names of one file. Scopes are functions, lambdas, classes and the module."""

    def __init__(self) -> None:
        self._bound: dict[tuple[ast.AST, str], str] = {}
        self._values: dict[tuple[ast.AST, str], list[ast.expr]] = collections.defaultdict(list)
        self._stars: list[str] = []

    def lookup(self, name: str, around: Iterable[ast.AST]) -> str:
        """The full name behind a name, seen from inside the nodes ``around``, innermost first."""
        scope = self._home(name, around)
        if scope is not None:
            return self._bound[scope, name]
        if hasattr(builtins, name):
            return f"builtins.{name}"
        return f"{self._stars[0]}.{name}" if len(self._stars) == 1 else ""

    def values(self, name: str, around: Iterable[ast.AST]) -> list[ast.expr]:
        """Every expression assigned to a name in the scope that it belongs to."""
        scope = self._home(name, around)
        return [] if scope is None else self._values.get((scope, name), [])

    def binds(self, scope: ast.AST, name: str) -> bool:
        """Whether a scope gives ``name`` a meaning of its own."""
        return (scope, name) in self._bound

    def _home(self, name: str, around: Iterable[ast.AST]) -> ast.AST | None:
        innermost = True
        for above in around:
            if not isinstance(above, SCOPES):
                continue
            # Functions do not see the names of the class around them.
            if (innermost or not isinstance(above, ast.ClassDef)) and (above, name) in self._bound:
                return above
            innermost = False
        return None

    def add(self, node: ast.AST, scope: ast.AST) -> None:
        """Take in what a node of one of the ``BINDING`` types binds in its scope."""
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            self._bound.setdefault((scope, node.id), "")
        elif isinstance(node, ast.arg):
            self._bound.setdefault((scope, node.arg), "")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self._bound.setdefault((scope, node.name), "")
        elif isinstance(node, ast.Import | ast.ImportFrom):
            self._import(node, scope)
        else:
            self._add_values(node, scope)

    def _import(self, node: ast.Import | ast.ImportFrom, scope: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.name if alias.asname else alias.name.split(".")[0]
                self._bound[scope, alias.asname or name] = name
        else:
            home = "." * node.level + (node.module or "")
            for alias in node.names:
                if alias.name == "*":
                    self._stars.append(home)
                else:
                    self._bound[scope, alias.asname or alias.name] = f"{home}.{alias.name}"

    def _add_values(self, node: ast.AST, scope: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._assign(scope, target, node.value)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
            self._assign(scope, node.target, node.value)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            self._assign(scope, node.target, node.iter)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._assign(scope, node.optional_vars, node.context_expr)

    def _assign(self, scope: ast.AST, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            paired = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
            for position, part in enumerate(target.elts):
                self._assign(scope, part, value.elts[position] if paired else value)  # type: ignore[attr-defined]  # paired says it is a tuple
        elif isinstance(target, ast.Name):
            self._values[scope, target.id].append(value)

    def alias(self, scope: ast.AST, name: str, full_name: str) -> None:
        """Make a name that was assigned once, and to nothing imported, stand for a full name."""
        if len(self._values[scope, name]) == 1 and self._bound.get((scope, name)) == "":
            self._bound[scope, name] = full_name


def canonical(name: str) -> str:
    """The public name of something that was imported from where it is defined."""
    for old, new in _HOMES:
        if name.startswith(old):
            return new + name[len(old) :]
    return name
