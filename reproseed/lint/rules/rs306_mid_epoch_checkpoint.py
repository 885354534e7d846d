"""A checkpoint is written inside an epoch without the place in the data.

The resume starts the epoch again, and samples that were seen are seen twice. Iterate with `for
step, batch in rs.steps(loader):` and save rs.state_dict(): the resumed epoch then goes on with
the next batch.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.flow import has_method
from reproseed.lint.project import Project
from reproseed.lint.source import Module
from reproseed.lint.training import is_loader, resuming, saved_keys

LEVEL = "W"
WHOLE_PROJECT = True
_SCRIPT = """
import torch
import reproseed as rs

def main(args, model, loader, optimizer):
    start_epoch = 0
    if args.resume:
        state = torch.load(args.resume)
        model.load_state_dict(state["model"])
        start_epoch = state["epoch"]
        rs.load_state_dict(state["run"])
    for epoch in range(start_epoch, 10):
        for step, batch in enumerate(loader):
            model(batch).backward()
            if step %% 100 == 0:
                torch.save({"model": model.state_dict(), "epoch": epoch%s}, "last.pt")
"""
BAD = (_SCRIPT % "",)
GOOD = (_SCRIPT % ', "step": step',)

_PLACE = ("step", "iter", "batch", "sampler", "loader", "position", "samples", "rng")


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find saves inside the loop over a loader whose keys name no place."""
    state = resuming(module, project)
    if state is None or has_method(module.tree, "skip_first_batches", "skip"):
        return
    for save in state.saves:
        keys = saved_keys(module, save)
        inside = [lp for lp in module.loops(save) if isinstance(lp, ast.For) and is_loader(module, lp.iter)]
        if inside and "epoch" in " ".join(keys) and not any(p in k for k in keys for p in _PLACE):
            yield save
