"""A resumed run starts its learning-rate schedule anew.

The scheduler counts from zero again, so the resumed part trains with other learning rates. Save
scheduler.state_dict() and load it after the optimizer.
"""

import re
from collections.abc import Iterator

from reproseed.lint.examples import resuming_script
from reproseed.lint.project import Project
from reproseed.lint.source import Hit, Module
from reproseed.lint.training import is_restored, made_by, resuming

LEVEL = "W"
WHOLE_PROJECT = True
BAD = (resuming_script(without="scheduler"),)
GOOD = (
    resuming_script(),
    # Loading final weights is no resume.
    """
import torch

model.load_state_dict(torch.load("final.pt"))
""",
)

_SCHEDULER = re.compile(r"lr_scheduler\.\w+$|(^|\.)get_\w+_schedule(_with_warmup)?$")


def check(module: Module, project: Project) -> Iterator[Hit]:
    """Find resumes that restore no scheduler though one is made."""
    state = resuming(module, project)
    if state is None:
        return
    for name, call in made_by(module, _SCHEDULER):
        placed = any(k.arg == "last_epoch" for k in call.keywords)
        if not placed and not is_restored(name, state.restored, "sched"):
            yield state.loads[0], name
            return
