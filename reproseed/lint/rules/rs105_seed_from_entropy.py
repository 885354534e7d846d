"""A seed comes from the clock, the process, the OS or the hash of a string.

Nobody can run this again: the value is in no log and in no checkpoint, and hash() of a string
differs from process to process. Take the seed from the user; if there is none,
rs.init(master_seed=None) draws one, the same on all ranks, and rs.get_master_seed() tells it for
the log. For a seed per name use rs.stream(name).
"""

import ast
import re
from collections.abc import Iterator

from reproseed.lint.flow import expand, is_text
from reproseed.lint.project import Project, last_part
from reproseed.lint.seeding import ENTROPY, seeded_with
from reproseed.lint.source import Module

LEVEL = "E"
SUPERSEDES = ("RS101",)
BAD = (
    """
import time
import torch

torch.manual_seed(int(time.time()))
""",
    """
import numpy as np

def rng_for(name: str):
    return np.random.default_rng(hash(name))
""",
)
GOOD = (
    """
import reproseed as rs

rs.init(master_seed=None)
print("master seed", rs.get_master_seed())
""",
    """
import time
import torch

seed = int(time.time())
print("seed", seed)
torch.manual_seed(seed)
""",
)

_REPORTS = re.compile(r"print|log|info|warn|write|save|record|dump|echo", re.IGNORECASE)


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find seeds whose value cannot be had again."""
    for call, seed in seeded_with(module):
        if not _is_reported(module, seed) and any(_is_lost(module, n) for n in expand(module, seed)):
            yield call


def _is_lost(module: Module, node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = module.resolve(node.func)
    return name in ENTROPY or (name == "builtins.hash" and bool(node.args) and is_text(module, node.args[0]))


def _is_reported(module: Module, seed: ast.expr) -> bool:
    """Whether the seed has a name that is also printed, logged or saved."""
    names = {n.id for n in ast.walk(seed) if isinstance(n, ast.Name)}
    return any(
        isinstance(n, ast.Name) and n.id in names
        for call in module.nodes(ast.Call)
        if _REPORTS.search(last_part(call.func))
        for part in (*call.args, *(k.value for k in call.keywords))
        for n in ast.walk(part)
    )
