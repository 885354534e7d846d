"""A real training in torch: what its train loss does not show, its final state does."""

import sys

import pytest

from reproseed.verify.api import verify

pytestmark = pytest.mark.slow


@pytest.fixture
def run(scripts, tmp_path):
    def run(lose="", **options):
        command = f"{sys.executable} {scripts / 'cnn.py'} --epochs {{epochs}} [[--seed {{seed}}]]"
        command += f" [[--resume {{resume}}]] --save {{save}} --lose '{lose}'"
        options = {"repeats": 2, "epochs": 2, "jobs": 2, "threads": 1, "timeout": 120} | options
        return verify(command, out=tmp_path, **options)

    return run


def test_a_clean_training_passes_bit_for_bit(run):
    report = run()
    assert report.verdict.name == "PASS", report.verdict.reasons
    assert all(c.alive for c in report.findings.controls)
    environment = report.findings.record("full-0").state.environment
    assert environment["threads"] == 1


@pytest.mark.parametrize(
    ("lose", "where"),
    [
        ("optimizer", "loss"),
        ("scheduler", "final_state:scheduler/"),
        ("buffers", "final_state:model/1.running_mean"),
        ("average", "final_state:average/"),
    ],
)
def test_what_is_lost_on_a_resume_is_named(run, lose, where):
    report = run(lose, arms=("full", "half", "resume"))
    assert (report.verdict.name, report.exit_code) == ("FAIL", 1)
    assert {c.name for c in report.findings.comparisons if not c.equal} == {"resume"}
    differing = report.findings.of("resume")[0]
    assert differing.size == "logic"
    assert differing.first.metric.startswith(where)
