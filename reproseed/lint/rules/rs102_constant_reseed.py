"""A generator gets the same seed again and again.

In a training loop, `forward`, `__getitem__`, a transform or a collate function this makes every
epoch, step or sample draw the same numbers: the same dropout mask, the same crop. Let the address
decide: `with rs.seeded(task="train", epoch=epoch):` around the epoch, rs.steps(loader) for each
step, and rs.data.SampleSeeded(dataset) for each sample.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.flow import argument, has_method, is_fixed, is_none
from reproseed.lint.names import Function
from reproseed.lint.project import Project
from reproseed.lint.seeding import GENERATORS, global_seeds, isolated
from reproseed.lint.source import Module
from reproseed.lint.training import is_training_loop

LEVEL = "E"
SUPERSEDES = ("RS101",)
BAD = (
    """
import torch

def train(loader, epochs):
    for epoch in range(epochs):
        torch.manual_seed(0)
        for batch in loader:
            ...
""",
    """
import random

class Crops:
    def __getitem__(self, index):
        random.seed(self.seed)
        return random.random()
""",
)
GOOD = (
    """
import reproseed as rs

def train(loader, epochs):
    for epoch in rs.epochs(epochs):
        with rs.seeded(task="train", epoch=epoch):
            for step, batch in rs.steps(loader):
                ...
""",
    """
import torch

def main(runs):
    for learning_rate in (0.1, 0.01):
        torch.manual_seed(0)
        train(learning_rate)
""",
)

_PER_CALL = ("forward", "__getitem__", "__getitems__", "training_step", "augment", "transform")


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find seeds that do not change where they are set repeatedly."""
    handed = {k.value.id for k in module.keywords("collate_fn") if isinstance(k.value, ast.Name)}
    for call in global_seeds(module):
        seed = argument(call, 0, "seed", "a")
        if seed is None or is_none(seed) or isolated(module, call):
            continue
        if _same_each_epoch(module, call, seed) or _same_each_call(module, call, seed, handed):
            yield call
    own = [c for c in module.methods("manual_seed") if not module.resolve(c.func)]
    for call in [*module.calls(*GENERATORS), *own]:
        seed = argument(call, 0, "seed")
        if seed is not None and not is_none(seed) and _same_each_call(module, call, seed, handed):
            yield call


def _same_each_epoch(module: Module, call: ast.Call, seed: ast.expr) -> bool:
    loops = module.loops(call)
    if not any(is_training_loop(module, loop) for loop in loops):
        return False
    # A loop that makes a new optimizer each time runs whole trainings.
    if any(_starts_anew(loop) for loop in loops):
        return False
    return all(is_fixed(module, seed, loop) for loop in loops)


def _starts_anew(loop: ast.AST) -> bool:
    return has_method(loop, "parameters") and not has_method(loop, "backward")


def _same_each_call(module: Module, call: ast.Call, seed: ast.expr, handed: set[str]) -> bool:
    function = module.function(call)
    if function is None or not _is_per_call(module, function, handed):
        return False
    given = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)} - {"self", "cls"}
    reads = {n.id for n in ast.walk(seed) if isinstance(n, ast.Name)}
    return not reads & given and is_fixed(module, seed, function)


def _is_per_call(module: Module, function: Function, handed: set[str]) -> bool:
    if function.name in _PER_CALL and module.owner(function) is not None:
        return True
    if function.name == "__call__":
        return any(w in _owner(module, function) for w in ("Crop", "Transform", "Augment", "Random", "Flip"))
    return "collate" in function.name or function.name in handed


def _owner(module: Module, function: Function) -> str:
    owner = module.owner(function)
    return owner.name if owner else ""
