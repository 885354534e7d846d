"""Workers that outlive an epoch keep their old streams.

A scope reseeds this process, not workers that already run, so an epoch that is entered again, as
after a resume, is another epoch. Use rs.data.seeded_loader(...), same arguments, whose samples
carry their address with them, or persistent_workers=False.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.flow import argument, expand, is_literal, is_none
from reproseed.lint.project import Project
from reproseed.lint.source import Module
from reproseed.lint.training import LOADER

LEVEL = "E"
WHOLE_PROJECT = True
BAD = (
    """
import reproseed as rs
from torch.utils.data import DataLoader

loader = DataLoader(data, num_workers=2, persistent_workers=True)
for epoch in rs.epochs(3):
    with rs.seeded(task="train", epoch=epoch):
        train(loader)
""",
)
GOOD = (
    """
import reproseed as rs

loader = rs.data.seeded_loader(data, num_workers=2, persistent_workers=True)
for epoch in rs.epochs(3):
    with rs.seeded(task="train", epoch=epoch):
        train(loader)
""",
    """
from torch.utils.data import DataLoader

loader = DataLoader(data, num_workers=2, persistent_workers=True)
""",
)


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find plain loaders with persistent workers in projects that use scopes."""
    if not project.uses_reproseed:
        return
    for call in module.calls(LOADER):
        persistent = argument(call, None, "persistent_workers")
        if is_none(persistent) or is_literal(persistent, False):
            continue
        dataset = argument(call, 0, "dataset")
        if dataset is None or not _is_sample_seeded(module, dataset):
            yield call


def _is_sample_seeded(module: Module, dataset: ast.expr) -> bool:
    wrappers = ("reproseed.data.SampleSeeded", "reproseed.data.IterableSeeded")
    return any(isinstance(n, ast.Call) and module.resolve(n.func) in wrappers for n in expand(module, dataset))
