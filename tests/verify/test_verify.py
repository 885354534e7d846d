"""Whole verifications of a small training, each with one fault: real processes throughout."""

import os
import sys

import pytest

from reproseed.verify.api import verify

LOGIC = "far beyond rounding: a fault of logic"


def kinds(report):
    """Which kinds of comparison differ."""
    return {c.name for c in report.findings.comparisons if not c.equal}


def test_a_clean_script_passes_bit_for_bit(clean_report):
    assert (clean_report.verdict.name, clean_report.exit_code) == ("PASS", 0)
    assert clean_report.verdict.level_reached == "bitwise"
    assert clean_report.verdict.reasons == (
        "Repeat: 1 run, bit-equal (36 values and 5 entries of the final state).",
        "Prefix: 2 runs, bit-equal (36 values).",
        "Resume: 2 runs, bit-equal (36 values and 10 entries of the final state).",
    )
    assert all(c.alive for c in clean_report.findings.controls)
    assert (clean_report.warnings, clean_report.next) == ([], [])


@pytest.mark.parametrize(
    ("fault", "metric", "step"),
    [
        ("optimizer", "loss", 17),
        ("scheduler", "loss", 17),
        ("sampler", "loss", 16),
        ("buffers", "eval/loss", 24),
        ("ema", "eval/loss", 24),
    ],
)
def test_what_a_resume_loses_fails_the_resume_alone(verify_toy, fault, metric, step):
    report = verify_toy(fault)
    assert (report.verdict.name, report.exit_code, kinds(report)) == ("FAIL", 1, {"resume"})
    for comparison in report.findings.of("resume"):
        assert (comparison.first.metric, comparison.first.step) == (metric, step)
        assert comparison.first.epoch == 2
    reason = report.verdict.reasons[-1]
    assert "the checkpoint lacks something, or something of it is not restored" in reason
    assert f"resume-0 parts from full-0 at epoch 2, step {step}: {metric} is" in reason
    assert LOGIC in reason


@pytest.mark.parametrize(("fault", "entry"), [("buffers", "running"), ("ema", "average")])
def test_what_no_metric_shows_is_seen_in_the_final_state(verify_toy, fault, entry):
    """Equal train loss, lost buffers: the old way of comparing curves passes it."""
    report = verify_toy(fault, metrics=("loss",))
    assert (report.verdict.name, kinds(report)) == ("FAIL", {"resume"})
    (first, *_) = report.findings.of("resume")
    assert first.equal_until == first.compared
    assert first.first.metric == f"final_state:{entry}"
    assert "every metric is equal, yet 1 of 5 entries of the final state are not" in (report.verdict.reasons[-1])


@pytest.mark.parametrize("fault", ["private generator", "set order"])
def test_what_the_seed_does_not_reach_fails_the_repeat(verify_toy, fault):
    report = verify_toy(fault, repeats=4, arms=("full", "other"))
    assert (report.verdict.name, kinds(report)) == ("FAIL", {"repeat"})
    assert "a generator that the seed does not reach" in report.verdict.reasons[0]
    assert any("--vary cwd" in step.command for step in report.next)


def test_the_order_of_a_set_is_quiet_under_one_hash_seed(verify_toy):
    assert verify_toy("set order", vary=("cwd",)).verdict.name == "PASS"


def test_what_depends_on_the_number_of_epochs_fails_the_prefix(verify_toy):
    report = verify_toy("total epochs")
    assert (report.verdict.name, kinds(report)) == ("FAIL", {"prefix", "resume"})
    assert "a learning-rate schedule, say; give it {total_epochs}" in report.verdict.reasons[1]
    assert "as must be expected" in report.verdict.reasons[2]


@pytest.mark.parametrize(("level", "verdict"), [("bitwise", "FAIL"), ("rounding", "PASS")])
def test_noise_in_the_last_digits_is_rounding(verify_toy, level, verdict):
    report = verify_toy("noise", level=level)
    assert (report.verdict.name, report.verdict.level_reached) == (verdict, "rounding")
    assert "differ by rounding" in report.verdict.reasons[0]
    assert {c.size for c in report.findings.comparisons} == {"rounding"}
    if level == "bitwise":
        assert "--level rounding" in report.next[-1].command


def test_noise_in_the_last_digits_passes_the_statistics(noisy_report):
    assert noisy_report.verdict.name == "PASS"
    spread = [t for t in noisy_report.verdict.tests if t.name.startswith("Brown")]
    same = [t for t in noisy_report.verdict.tests if t.name.startswith("equivalence")]
    assert len(spread) == len(same) == 4  # two metrics, two summaries
    assert all(t.n == (8, 8) and t.p_adjusted >= t.p for t in [*spread, *same])
    sds = {s.arm: s.sd for s in noisy_report.findings.summaries if s.metric == "loss"}
    assert sds["full"] < 1e-5 < 0.1 < sds["unseeded"]


def test_a_smaller_variance_never_passes_a_fault(verify_toy):
    """A private generator leaves seeded runs closer to each other than unseeded ones."""
    report = verify_toy("private generator", repeats=8, level="statistical")
    assert (report.verdict.name, report.verdict.level_reached) == ("FAIL", None)


def test_a_seed_in_the_script_is_ignored_seed(verify_toy):
    report = verify_toy("constant seed")
    assert (report.verdict.name, report.exit_code) == ("SEED_IGNORED", 4)
    assert "the seed is written into the script" in report.verdict.reasons[0]


def test_a_constant_without_seed_is_a_dead_control(verify_toy):
    report = verify_toy("constant fall-back")
    assert (report.verdict.name, report.exit_code) == ("DEAD_CONTROL", 4)
    assert "torch's default generator, which starts from the same constant" in (report.verdict.reasons[0])
    assert "--arms full,half,resume,other" in report.next[0].command


def test_the_advice_for_a_dead_control_leads_to_a_verdict(verify_toy):
    report = verify_toy("constant fall-back", arms=("full", "half", "resume", "other"))
    assert report.verdict.name == "PASS"
    assert len(report.findings.arm("other")) == 2


def test_rounded_logs_alone_prove_nothing(toy_command, tmp_path):
    command = [a for a in toy_command("", "--digits", "4") if a not in {"--save", "{save}"}]
    report = verify(command, out=tmp_path, repeats=2, jobs=2, arms=("full", "other"))
    assert (report.verdict.name, report.exit_code) == ("INCONCLUSIVE", 4)
    assert "loss, eval/loss were rounded when they were logged" in report.verdict.reasons[0]
    assert "log_metric" in report.next[0].command


def test_rounded_logs_with_a_final_state_pass_with_a_warning(verify_toy):
    report = verify_toy("", "--digits", "4")
    assert report.verdict.name == "PASS"
    assert report.warnings == ["Rounded when logged: loss, eval/loss. A first difference shows late."]


def test_a_run_that_fails_is_reported_with_its_end_and_the_rest_goes_on(verify_toy):
    report = verify_toy("fails")
    assert (report.verdict.name, report.exit_code) == ("RUN_FAILED", 3)
    assert report.verdict.reasons[0] == ("resume-0 failed: ended with exit code 1: KeyError: 'optimizer'.")
    assert report.findings.record("resume-0").output_tail.endswith("KeyError: 'optimizer'")
    assert all(r.ok == (r.job.arm != "resume") for r in report.findings.records)
    assert "Repeat: 1 run, bit-equal" in report.verdict.reasons[2]
    assert any("output.log" in step.command for step in report.next)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks for processes in /proc")
def test_a_run_that_hangs_is_killed_with_its_children_and_the_rest_goes_on(verify_toy, wait_until_ended):
    report = verify_toy("hangs", timeout=2)
    assert (report.verdict.name, report.exit_code) == ("RUN_FAILED", 3)
    assert "resume-0 timed out: killed after 2 s" in report.verdict.reasons[0]
    for name in ("resume-0", "resume-1"):
        record = report.findings.record(name)
        assert record.output_tail.endswith("waiting for a peer that never comes")
        assert wait_until_ended(int(record.output_tail.split()[1]))


def test_metrics_that_are_missing_leave_it_undecided(verify_toy):
    report = verify_toy("no metrics")
    assert (report.verdict.name, report.exit_code) == ("INCONCLUSIVE", 4)
    assert "No run wrote metrics where they were looked for" in report.verdict.reasons[0]


def test_a_final_state_alone_passes_where_no_metrics_were_promised(toy_command, tmp_path):
    command = [a for a in toy_command() if a not in {"--metrics", "{metrics}"}]
    report = verify(command, out=tmp_path, repeats=2, jobs=2)
    assert report.verdict.name == "PASS"
    assert report.warnings[0].startswith("No metrics were found")


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("ignores checkpoint", "resume-0 reports the epochs before the resume point again"),
        ("does not stop", "does not stop where it is told to"),
    ],
)
def test_equality_that_says_nothing_about_resuming_is_no_pass(verify_toy, fault, reason):
    report = verify_toy(fault)
    assert (report.verdict.name, report.exit_code) == ("INCONCLUSIVE", 4)
    assert reason in report.verdict.reasons[0]


def test_a_resumed_run_that_begins_at_epoch_0_fails(verify_toy):
    report = verify_toy("from the start")
    assert (report.verdict.name, kinds(report)) == ("FAIL", {"resume"})


def test_a_metric_of_time_is_named_as_one(verify_toy):
    report = verify_toy("logs time", arms=("full", "other"))
    assert report.verdict.name == "FAIL"
    assert "epoch_seconds looks like a measurement of time" in report.next[0].why
    assert verify_toy("logs time", ignore=("epoch_seconds",)).verdict.name == "PASS"


def test_without_a_control_a_pass_comes_with_a_warning(verify_toy):
    report = verify_toy("", arms=("full", "half", "resume"))
    assert report.verdict.name == "PASS"
    assert "There was no control arm" in report.warnings[0]


def test_a_script_that_uses_the_library_needs_no_placeholder(scripts, tmp_path):
    report = verify([sys.executable, str(scripts / "tasks.py")], out=tmp_path, repeats=2, jobs=2)
    assert report.verdict.name == "PASS"
    assert {r.state.source for r in report.findings.records} == {"final_state"}


class Tracer:
    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def __call__(self, a, b):
        self.asked.append((a, b))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


FOUND = {"cause": "OPTIMIZER_STATE", "place": {"epoch": 2, "step": 0}, "summary": "4 entries vs 0"}


@pytest.mark.parametrize(
    ("answer", "trace", "reason"),
    [
        (FOUND, {"pair": ["full-0", "resume-0"], **FOUND}, "Trace: 4 entries vs 0"),
        (None, None, "Resume: 2 of 2"),
        (OSError("no"), {"pair": ["full-0", "resume-0"], "problem": "the trace failed: no"},
         "Resume: 2 of 2"),
    ],
    ids=["found", "nothing", "failed"],
)  # fmt: skip
def test_a_tracer_is_given_the_runs_that_part(verify_toy, answer, trace, reason):
    tracer = Tracer(answer)
    report = verify_toy("optimizer", trace=tracer)
    ((a, b),) = tracer.asked
    assert (a.name, b.name, "--resume" in b.argv) == ("full-0", "resume-0", True)
    assert (report.verdict.name, report.trace) == ("FAIL", trace)
    assert report.verdict.reasons[-1].startswith(reason)
    if trace:
        assert report.to_dict()["trace"] == trace
        assert str(trace.get("cause", trace.get("problem"))) in report.to_html()
        assert "full-0, resume-0" in report.to_html()


def test_a_tracer_is_not_asked_where_nothing_parts(verify_toy):
    tracer = Tracer(FOUND)
    assert verify_toy("", arms=("full", "other"), trace=tracer).trace is None
    assert tracer.asked == []


def test_a_larger_fault_of_the_resume_is_traced_before_the_noise_of_repeats(verify_toy):
    """Noise in all runs, and a lost optimizer: the second is what one wants to know."""
    report = verify_toy("noise and optimizer", level="statistical", repeats=4)
    assert (report.verdict.name, report.verdict.level_reached) == ("FAIL", None)
    assert "the checkpoint lacks something" in report.verdict.reasons[2]
    assert "full-0.trace.jsonl.gz resume-" in report.next[-1].command
