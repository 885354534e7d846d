"""Loader workers are seeded from their number alone.

Workers are started anew for every epoch, so each epoch repeats the augmentation of the first. The
first word of NumPy's state does not help: in a worker it is 2147483648, always. Pass
worker_init_fn=rs.data.seed_worker, or use rs.data.seeded_loader(...).
"""

import ast
from collections.abc import Iterator

from reproseed.lint.project import Project
from reproseed.lint.source import Module
from reproseed.lint.workers import changes_by_epoch, seeds_in, uses_worker_id, worker_functions

LEVEL = "E"
BAD = (
    """
import numpy as np

def worker_init_fn(worker_id):
    np.random.seed(np.random.get_state()[1][0] + worker_id)
""",
)
GOOD = (
    """
import numpy as np
import torch

def worker_init_fn(worker_id):
    np.random.seed((torch.initial_seed() + worker_id) % 2**32)
""",
)


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find worker seeds made of the worker's number and constants."""
    for function in worker_functions(module, project):
        for call, seed in seeds_in(module, function):
            if uses_worker_id(module, function, seed) and not changes_by_epoch(module, seed):
                yield call
