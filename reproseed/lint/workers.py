"""Functions that seed loader workers, and what their seeds are made of."""

import ast
from collections.abc import Iterator

from reproseed.lint.flow import argument, calls_in, expand
from reproseed.lint.names import Function
from reproseed.lint.project import Project, last_part
from reproseed.lint.seeding import GENERATORS, GLOBAL_SEEDS
from reproseed.lint.source import Module

_CHANGES = frozenset(("seed", "epoch", "base_seed", "entropy"))
_USUAL_NAMES = frozenset(("worker_init_fn", "worker_init", "seed_worker"))


def worker_functions(module: Module, project: Project) -> Iterator[Function | ast.Lambda]:
    """Functions of this file that any file's loader gets as ``worker_init_fn``, or are named so."""
    for other, handed in _handed(project):
        if isinstance(handed, ast.Lambda) and other is module:
            yield handed
    named = {last_part(handed) for _, handed in _handed(project)} | _USUAL_NAMES
    for function in module.functions():
        if function.name in named or function.name.strip("_") in named:
            yield function


def _handed(project: Project) -> Iterator[tuple[Module, ast.expr]]:
    """What loaders get as ``worker_init_fn``: functions, also partial or conditional ones."""
    for module, keyword in project.keywords("worker_init_fn"):
        value = keyword.value
        if isinstance(value, ast.IfExp):  # `init if workers else None`
            value = value.body
        if isinstance(value, ast.Call) and module.resolve(value.func) == "functools.partial":
            value = value.args[0]
        yield module, value


def seeds_in(module: Module, function: ast.AST) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Calls below a function that seed something, each with the seed."""
    for call, name in calls_in(module, function):
        if name in GLOBAL_SEEDS or name in GENERATORS or last_part(call.func) == "manual_seed":
            seed = argument(call, 0, "seed", "a")
            if seed is not None:
                yield call, seed


def uses_worker_id(module: Module, function: Function | ast.Lambda, seed: ast.expr) -> bool:
    """Whether a seed depends on the function's argument."""
    parameters = {a.arg for a in (*function.args.posonlyargs, *function.args.args)}
    parameters -= {"self", "cls", "seed", "rank", "base_seed", "num_workers"}
    return any(isinstance(n, ast.Name) and n.id in parameters for n in expand(module, seed))


def changes_by_epoch(module: Module, seed: ast.expr) -> bool:
    """Whether a seed depends on torch's seed for the worker, an epoch, or anything that moves."""
    for node in expand(module, seed):
        if isinstance(node, ast.Call):
            name = module.resolve(node.func)
            still = name.startswith(("builtins.", "numpy.random.get_state", "numpy.uint", "numpy.int"))
            if not still and name not in GENERATORS and last_part(node.func) not in ("get_state", "get"):
                return True
        if isinstance(node, ast.Attribute) and node.attr in _CHANGES and _is_worker_info(module, node):
            return True
        if isinstance(node, ast.Name | ast.Attribute) and "epoch" in last_part(node):
            return True
    return False


def _is_worker_info(module: Module, node: ast.Attribute) -> bool:
    if isinstance(node.value, ast.Name):
        made = module.values(node.value)
        if any(isinstance(m, ast.Call) and last_part(m.func) == "get_worker_info" for m in made):
            return True
    return "info" in last_part(node.value) or "worker" in last_part(node.value)
