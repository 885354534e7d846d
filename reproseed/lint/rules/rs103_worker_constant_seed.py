"""Every loader worker gets the same seed.

All workers then draw the same noise, and so do all epochs. torch already seeds each worker anew
for every iterator; leave that alone, or pass worker_init_fn=rs.data.seed_worker. With
rs.data.seeded_loader(...) a sample's draws depend on the sample alone, whichever worker fetches
it.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.flow import is_none
from reproseed.lint.project import Project
from reproseed.lint.source import Module
from reproseed.lint.workers import changes_by_epoch, seeds_in, uses_worker_id, worker_functions

LEVEL = "E"
BAD = (
    """
import numpy as np
from torch.utils.data import DataLoader

loader = DataLoader(data, num_workers=4, worker_init_fn=lambda _: np.random.seed(0))
""",
)
GOOD = (
    """
from torch.utils.data import DataLoader
import reproseed as rs

loader = DataLoader(data, num_workers=4, worker_init_fn=rs.data.seed_worker)
""",
    """
import numpy as np
import torch

def worker_init_fn(worker_id):
    np.random.seed(torch.initial_seed() % 2**32)
""",
)


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find worker seeds that are the same in every worker."""
    for function in worker_functions(module, project):
        for call, seed in seeds_in(module, function):
            if is_none(seed) or uses_worker_id(module, function, seed):
                continue
            if not changes_by_epoch(module, seed):
                yield call
