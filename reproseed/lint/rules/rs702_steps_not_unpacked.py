"""rs.steps yields pairs, and only one name takes them.

Each item is `(step, item)`, so that the address of a step has its number. Write `for step, batch
in rs.steps(loader):`.
"""

import ast
import re
from collections.abc import Iterator

from reproseed.lint.project import Project, last_part
from reproseed.lint.source import Module

LEVEL = "E"
BAD = (
    """
import reproseed as rs

for batch in rs.steps(loader):
    train_step(batch)
""",
    """
import reproseed as rs

for images, labels in rs.steps(loader):
    train_step(images, labels)
""",
)
GOOD = (
    """
import reproseed as rs

for step, batch in rs.steps(loader):
    train_step(batch)
""",
    """
import reproseed as rs

for step, (images, labels) in rs.steps(loader):
    train_step(images, labels)
""",
    """
import reproseed as rs

for pair in rs.steps(loader):
    step, batch = pair
""",
)

_DATA = re.compile(
    r"^(x|xb|xs|batch|data|src|inputs?|images?|imgs?|samples?|features?|tokens?|texts?|input_ids|frames?)$",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"step|idx|index|iter|count|^(i|j|k|n|it|_)$", re.IGNORECASE)


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find loops and comprehensions over ``steps`` whose first name takes the pair or a batch."""
    for call in _steps(module):
        holder, target = _consumer(module, call)
        if holder is None or target is None:
            continue
        if isinstance(target, ast.Name) and not _unpacked_later(holder, target.id):
            yield target
        if isinstance(target, ast.Tuple) and _DATA.match(last_part(target.elts[0])):
            yield target


def _steps(module: Module) -> Iterator[ast.Call]:
    yield from module.calls("reproseed.steps")
    for call in module.methods("steps"):
        if isinstance(call.func, ast.Attribute) and _is_scope(module, call.func.value):
            yield call


def _is_scope(module: Module, node: ast.expr) -> bool:
    made = module.values(node) if isinstance(node, ast.Name) else [node]
    return any(
        isinstance(m, ast.Call) and module.resolve(m.func) in ("reproseed.seeded", "reproseed.current") for m in made
    )


def _consumer(module: Module, call: ast.Call) -> tuple[ast.AST | None, ast.expr | None]:
    """The loop that takes the pairs, and the target for one; through tqdm and enumerate."""
    above = module.parent(call)
    numbered = False
    while isinstance(above, ast.Call):
        numbered = numbered or module.resolve(above.func) == "builtins.enumerate"
        above = module.parent(above)
    if not isinstance(above, ast.For | ast.AsyncFor | ast.comprehension) or call not in ast.walk(above.iter):
        return None, None
    target = above.target
    if numbered:
        target = target.elts[-1] if isinstance(target, ast.Tuple) else target
    return above, target


def _unpacked_later(loop: ast.AST, name: str) -> bool:
    if name in ("_", "pair"):
        return True
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == name:
            first = node.targets[0].elts[0] if isinstance(node.targets[0], ast.Tuple) else None
            if isinstance(first, ast.Name) and _NUMBER.search(first.id):
                return True
    return False
