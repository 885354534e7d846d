"""Checkpoints of several ranks: in ``torch.distributed.checkpoint``, and saved by rank 0 alone."""

from __future__ import annotations

import pytest
from launch import on_ranks

pytestmark = [pytest.mark.distributed, pytest.mark.slow]


HEAD = """
import logging
import torch.distributed.checkpoint as dcp
from reproseed.integrations.distributed import RunState, read_state
logged = []
class Keep(logging.Handler):
    def emit(self, record):
        logged.append(record.getMessage())
logging.getLogger("reproseed").addHandler(Keep(logging.WARNING))
kept = random.Random()

def train(at_step):
    drawn = {}
    for epoch in rs.epochs(2):
        with rs.seeded(task="train", epoch=epoch):
            for step, _ in rs.steps(4):
                drawn[f"{epoch}.{step}"] = [*draws(), kept.random()]
                at_step(epoch, step)
    return drawn
"""

SAVE = """
start_group()
rs.init(3)
rs.register_generator(kept, name="kept")
def save(epoch, step):
    if (epoch, step) == (1, 1):
        dcp.save({"weight": torch.ones(3), "rng": RunState()}, checkpoint_id=OUT.parent / "saved")
        if RANK == 0:
            torch.save(rs.state_dict(), OUT.parent / "rank-0.pt")
report(draws=train(save))
"""

STATEFUL = """
start_group()
rs.init(3)
rs.register_generator(kept, name="kept")
folder = OUT.parent / "saved"
state = {"weight": torch.zeros(3), "rng": RunState(saved=folder)}
dcp.load(state, checkpoint_id=folder)
assert state["weight"].tolist() == [1, 1, 1]
report(draws=train(lambda *_: None), logged=logged)
"""

READ_BEFORE_THE_GROUP = """
rs.init(resume=read_state(OUT.parent / "saved"))
rs.register_generator(kept, name="kept")
start_group()
assert rs.get_master_seed() == 3
report(draws=train(lambda *_: None), logged=logged)
"""

READ_IN_THE_GROUP = """
start_group()
rs.init(resume=read_state(str(OUT.parent / "saved")))
rs.register_generator(kept, name="kept")
report(draws=train(lambda *_: None), logged=logged)
"""

RANK_0_ONLY = """
start_group()
rs.init(resume=torch.load(OUT.parent / "rank-0.pt"))
rs.register_generator(kept, name="kept")
report(draws=train(lambda *_: None), logged=logged)
"""


def _left(report):
    return {step: report["draws"][step] for step in ("1.2", "1.3")}


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """The whole run on four ranks: what each of them has to draw."""
    return on_ranks(tmp_path_factory.mktemp("full"), 4, HEAD + SAVE)


@pytest.fixture(scope="module")
def saved(tmp_path_factory, full):
    """A folder in which two ranks have saved in the middle of an epoch."""
    folder = tmp_path_factory.mktemp("saved")
    reports = on_ranks(folder, 2, HEAD + SAVE)
    assert reports == full[:2]
    return folder


@pytest.mark.parametrize(
    ("ranks", "body"),
    [
        pytest.param(1, STATEFUL, id="stateful-on-fewer"),
        pytest.param(2, STATEFUL, id="stateful-on-as-many"),
        pytest.param(4, STATEFUL, id="stateful-on-more"),
        pytest.param(4, READ_IN_THE_GROUP, id="read-on-more"),
        pytest.param(2, READ_BEFORE_THE_GROUP, id="read-before-the-group"),
    ],
)
def test_case_25_each_rank_goes_on_as_it_would_have_from_the_start(saved, full, ranks, body):
    reports = on_ranks(saved, ranks, HEAD + body)
    assert [one["draws"] for one in reports] == [_left(one) for one in full[:ranks]]
    said = [bool(one["logged"]) for one in reports]
    assert said == [ranks != 2] * ranks
    if ranks == 4:
        assert "the checkpoint is of rank 1 of 2, this is rank 1 of 4" in reports[1]["logged"][0]
        assert "the checkpoint is of no single rank of 2, this is rank 3 of 4" in reports[3]["logged"][0]


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_of_a_checkpoint_saved_by_rank_0_the_other_ranks_derive_and_say_so(saved, full, ranks):
    reports = on_ranks(saved, ranks, HEAD + RANK_0_ONLY)
    assert [one["draws"] for one in reports] == [_left(one) for one in full[:ranks]]
    derived = "the checkpoint is of rank 0 of 2, this is rank {} of {}: streams are derived, none is continued"
    for rank, one in enumerate(reports):
        same = rank == 0 and ranks == 2
        assert one["logged"] == ([] if same else [derived.format(rank, ranks)])
