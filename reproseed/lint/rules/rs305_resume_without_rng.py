"""A resumed run does not take its randomness back.

Dropout, augmentation and order after the resume are those of a fresh start. Save rs.state_dict()
and pass it to rs.init(master_seed=..., resume=state["rng"]): scopes then need the position alone.
"""

from collections.abc import Iterator

from reproseed.lint.examples import resuming_script
from reproseed.lint.project import Project
from reproseed.lint.source import Hit, Module
from reproseed.lint.training import resuming

LEVEL = "W"
WHOLE_PROJECT = True
BAD = (resuming_script(without="rng"),)
GOOD = (
    resuming_script(),
    # Loading final weights is no resume.
    """
import torch

model.load_state_dict(torch.load("final.pt"))
""",
)

_RESTORES = frozenset(
    (
        "torch.set_rng_state",
        "torch.cuda.set_rng_state",
        "torch.cuda.set_rng_state_all",
        "random.setstate",
        "numpy.random.set_state",
        "reproseed.load_state_dict",
    )
)


def check(module: Module, project: Project) -> Iterator[Hit]:
    """Find resumes that restore no generator and no run of this library."""
    state = resuming(module, project)
    if state is None or project.called & _RESTORES:
        return
    if any(k.arg == "resume" for _, c in project.calls("reproseed.init") for k in c.keywords):
        return
    if any(len(c.args) + len(c.keywords) > 1 for _, c in project.calls("reproseed.reseed")):
        return  # each epoch is addressed: a resumed run needs its number alone
    if any("rng" in key or "seeder" in key for key in state.read_keys | state.restored):
        return
    yield state.loads[0], "no generator state is read from the checkpoint"
