"""A resume ignores what is missing from the checkpoint.

With strict=False a renamed layer or a lost buffer keeps its fresh value, and nobody is told. Load
strictly when resuming, and look at the returned missing_keys where only a part is wanted.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.flow import argument, is_literal
from reproseed.lint.project import Project
from reproseed.lint.source import Module
from reproseed.lint.training import resuming

LEVEL = "I"
WHOLE_PROJECT = True
_SCRIPT = """
import torch
import reproseed as rs

def main(args, model, loader):
    if args.resume:
        state = torch.load(args.resume)
        model.load_state_dict(state["model"]%s)
        rs.load_state_dict(state["rng"])
    for epoch in rs.epochs(10):
        for batch in loader:
            model(batch).backward()
        torch.save({"model": model.state_dict(), "rng": rs.state_dict()}, "last.pt")
"""
BAD = (_SCRIPT % ", strict=False",)
GOOD = (_SCRIPT % "",)


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find ``load_state_dict(..., strict=False)`` in files that resume."""
    if resuming(module, project) is None:
        return
    for call in module.methods("load_state_dict"):
        kept = not isinstance(module.parent(call), ast.Expr)
        if is_literal(argument(call, 1, "strict"), False) and not kept:
            yield call
