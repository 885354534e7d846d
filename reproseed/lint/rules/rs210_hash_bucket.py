"""hash() of a string decides where something goes.

Python salts it anew in every process, so the split, shard or bucket differs in every run and
worker. Use a hash that stays: zlib.crc32(name.encode()) % n, hashlib, or rs.stream(name).seed().
"""

import ast
from collections.abc import Iterator

from reproseed.lint.flow import is_text
from reproseed.lint.project import Project
from reproseed.lint.seeding import seeded_with
from reproseed.lint.source import Module

LEVEL = "W"
BAD = (
    """
def is_training(path):
    return hash(path) % 10 < 8
""",
)
GOOD = (
    """
import zlib

def is_training(path):
    return zlib.crc32(path.encode()) % 10 < 8
""",
    """
def shard(index: int) -> int:
    return hash(index) % 4
""",
)


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find ``hash(text)`` under a remainder, a mask or a comparison."""
    in_seeds = {n for _, seed in seeded_with(module) for n in ast.walk(seed)}  # RS105 speaks of them
    for call in module.calls("builtins.hash"):
        if call in in_seeds:
            continue
        if not call.args or not (is_text(module, call.args[0]) or _is_annotated_text(module, call.args[0])):
            continue
        function = module.function(call)
        if function is not None and function.name == "__hash__":
            continue
        if any(_buckets(above) for above in _expression(module, call)):
            yield call


def _expression(module: Module, call: ast.Call) -> Iterator[ast.AST]:
    for above in module.ancestors(call):
        if isinstance(above, ast.stmt):
            return
        yield above


def _buckets(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Mod | ast.BitAnd | ast.FloorDiv | ast.RShift)
    return isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)


def _is_annotated_text(module: Module, node: ast.expr) -> bool:
    function = module.function(node)
    if function is None or not isinstance(node, ast.Name):
        return False
    return any(
        a.arg == node.id and a.annotation is not None and ast.unparse(a.annotation) in ("str", "bytes")
        for a in function.args.args
    )
