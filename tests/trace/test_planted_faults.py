"""A few of the planted faults of `benchmarks/planted_faults.py`, which has them all."""

from __future__ import annotations

import pytest
from planted import clean, faults
from planted.plant import Runs, planted
from planted_faults import try_out

CHOSEN = (
    ("extra torch.rand in the evaluation inside an epoch", "repeat"),
    ("private random.Random in the transform, seeded once", "resume"),
    ("optimizer state not restored", "resume"),
    ("sampler epoch wrong on resume", "resume"),
    ("shuffle generator unseeded", "repeat"),
    ("dropout seeded differently", "repeat"),
    ("the loss is scaled", "repeat"),
    ("an optimizer step is skipped", "repeat"),
)
EVERY = {fault.name: fault for fault in (*faults.ASKED, *faults.LISTED)}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return Runs(tmp_path_factory.mktemp("planted"))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "arm"), CHOSEN, ids=[name for name, _ in CHOSEN])
def test_step_and_cause_of_a_planted_fault_are_named(runs, name, arm):
    row = try_out(EVERY[name], arm, runs)
    assert row.step_right, row
    assert row.cause_right, row


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1], ids=["digits", "text"])
@pytest.mark.parametrize("arm", ["repeat", "resume"])
def test_a_clean_script_is_not_called_different(runs, number, arm):
    row = try_out(clean.CLEAN[number], arm, runs)
    assert row.cause is None, row


@pytest.mark.parametrize("fault", [*EVERY.values(), *clean.CLEAN], ids=lambda fault: f"{fault.script} {fault.name}")
def test_every_fault_fits_its_script(fault):
    compile(planted(fault), fault.script, "exec")
