"""A resumed run counts its epochs from zero.

It trains epochs again that are done, with their data order and their randomness. Write `for epoch
in rs.epochs(n):`, which starts where the loaded checkpoint stopped, or save the epoch and start
the range from it.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.examples import resuming_script
from reproseed.lint.project import Project
from reproseed.lint.source import Hit, Module
from reproseed.lint.training import begins_later, is_epoch_loop, resuming, trains

LEVEL = "W"
WHOLE_PROJECT = True
BAD = (resuming_script(without="epoch"),)
GOOD = (
    resuming_script(),
    # The position may have any name.
    resuming_script().replace('"epoch"', '"ep"'),
    # Loading final weights is no resume.
    """
import torch

model.load_state_dict(torch.load("final.pt"))
""",
)

_POSITION = ("epoch", "step", "iter")


def check(module: Module, project: Project) -> Iterator[Hit]:
    """Find resumes that read no position back."""
    state = resuming(module, project)
    if state is None or "reproseed.epochs" in project.called:
        return
    if any(part in key for key in state.read_keys for part in _POSITION):
        return
    loops = [n for n in (*module.for_loops(), *module.nodes(ast.While)) if is_epoch_loop(n)]
    if any(begins_later(module, loop) for loop in loops):
        return
    if any(trains(loop) or _calls_training(loop) for loop in loops):
        yield state.loads[0], "no epoch or step is read from the checkpoint"


def _calls_training(loop: ast.AST) -> bool:
    return any("train" in ast.unparse(n.func) for n in ast.walk(loop) if isinstance(n, ast.Call))
