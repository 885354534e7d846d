"""Results are kept in the order in which threads or processes finish.

That order is a race, and what is built from it differs from run to run. Use pool.map or
pool.imap, which keep the order of the tasks; or place each result by its index; or sort
afterwards.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.flow import enclosing_calls
from reproseed.lint.ordering import grows_list, is_sorted_later, order_is_lost
from reproseed.lint.project import Project
from reproseed.lint.source import Module
from reproseed.lint.training import DATA_LIBRARIES

LEVEL = "W"
BAD = (
    """
import torch
from concurrent.futures import as_completed

def load(futures):
    samples = []
    for future in as_completed(futures):
        samples.append(future.result())
    return samples
""",
    """
import numpy as np

def load(pool, files):
    return list(pool.imap_unordered(read, files))
""",
)
GOOD = (
    """
import torch
from concurrent.futures import as_completed

def load(futures):
    samples = {}
    for future in as_completed(futures):
        samples[futures[future]] = future.result()
    return samples
""",
    """
import numpy as np

def load(pool, files):
    return sorted(pool.imap_unordered(read, files))
""",
)

_KEEPERS = (
    "builtins.list",
    "builtins.tuple",
    "numpy.array",
    "numpy.stack",
    "torch.stack",
    "torch.cat",
)

_WITH_DATA = DATA_LIBRARIES | {"numpy", "pandas", "sklearn"}


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find completion order that goes into a list, a file or a generator."""
    if not project.imports & _WITH_DATA:
        return
    names = ("concurrent.futures.as_completed", "asyncio.as_completed")
    for call in [*module.calls(*names), *module.methods("imap_unordered")]:
        if order_is_lost(module, call) or is_sorted_later(module, call):
            continue
        holder = next(
            (a for a in module.ancestors(call) if isinstance(a, ast.stmt | ast.ListComp)),
            module.tree,
        )
        in_loop = isinstance(holder, ast.For | ast.AsyncFor) and call in ast.walk(holder.iter)
        if in_loop:
            kept = grows_list(holder)
        else:
            kept = isinstance(holder, ast.ListComp) or any(
                name in _KEEPERS for _, name in enclosing_calls(module, call)
            )
        if kept:
            yield call
