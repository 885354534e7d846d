"""A resumed run starts with a fresh optimizer.

Momentum and second moments are zero again: the first steps after a resume differ from those of
the run that went on. Save optimizer.state_dict() and load it beside the model; rs.state_dict()
holds the randomness and the position, not the optimizer.
"""

import re
from collections.abc import Iterator

from reproseed.lint.examples import resuming_script
from reproseed.lint.project import Project
from reproseed.lint.source import Hit, Module
from reproseed.lint.training import is_restored, made_by, resuming

LEVEL = "W"
WHOLE_PROJECT = True
BAD = (
    resuming_script(without="optimizer"),
    # The word need not be said: the epochs begin where the checkpoint says.
    resuming_script(without="optimizer").replace("args.resume", "args.ckpt").replace("start_epoch", "first"),
)
GOOD = (
    resuming_script(),
    # Loading final weights is no resume.
    """
import torch

model.load_state_dict(torch.load("final.pt"))
""",
)

_OPTIMIZER = re.compile(r"^torch\.optim\.(?!lr_scheduler|swa_utils)|(^|\.)\w*(Adam\w*|SGD|Lion|Adafactor)$")


def check(module: Module, project: Project) -> Iterator[Hit]:
    """Find resumes that restore no optimizer though one is made."""
    state = resuming(module, project)
    if state is None:
        return
    made = list(made_by(module, _OPTIMIZER))
    if made and not any(is_restored(name, state.restored, "opt") for name, _ in made):
        yield state.loads[0], made[0][0]
