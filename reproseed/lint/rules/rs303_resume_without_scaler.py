"""A resumed run starts with a fresh gradient scaler.

The loss scale falls back to its first value, and some of the first steps are skipped where the
run that went on skipped none. Save scaler.state_dict() and load it.
"""

import re
from collections.abc import Iterator

from reproseed.lint.examples import resuming_script
from reproseed.lint.project import Project
from reproseed.lint.source import Hit, Module
from reproseed.lint.training import is_restored, made_by, resuming

LEVEL = "W"
WHOLE_PROJECT = True
BAD = (resuming_script(without="scaler"),)
GOOD = (
    resuming_script(),
    # Loading final weights is no resume.
    """
import torch

model.load_state_dict(torch.load("final.pt"))
""",
)

_SCALER = re.compile(r"(^|\.)GradScaler$")


def check(module: Module, project: Project) -> Iterator[Hit]:
    """Find resumes that restore no gradient scaler though one is made."""
    state = resuming(module, project)
    if state is None:
        return
    for name, _ in made_by(module, _SCALER):
        if not is_restored(name, state.restored, "scaler"):
            yield state.loads[0], name
            return
