"""The decision: from what was found to one verdict, the level that was reached, and why.

The order matters. A run that failed ends it; then come the controls, since equality proves nothing
where nothing can differ; then exact equality; then the size of the first difference; statistics
last, and only for rounding. A smaller variance alone never passes: a private generator reached
p = 0.035 with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reproseed.verify.arms import FEWEST_FOR_STATISTICS, Plan
from reproseed.verify.differences import EARLY, LOGIC_ULP, ROUNDING_ULP, worst
from reproseed.verify.findings import Findings
from reproseed.verify.inference import tests_of
from reproseed.verify.wording import dead_control, reasons_of, seed_ignored

if TYPE_CHECKING:
    from reproseed.verify.statistics import Test

PASS, FAIL, INCONCLUSIVE = "PASS", "FAIL", "INCONCLUSIVE"
DEAD_CONTROL, SEED_IGNORED, RUN_FAILED = "DEAD_CONTROL", "SEED_IGNORED", "RUN_FAILED"

EXIT_CODES = {PASS: 0, FAIL: 1, RUN_FAILED: 3, INCONCLUSIVE: 4, DEAD_CONTROL: 4, SEED_IGNORED: 4}


@dataclass(frozen=True)
class Verdict:
    """The outcome.

    Attributes:
        name: one of `EXIT_CODES`.
        level_reached: the strongest level that holds, or None.
        reasons: why, in sentences.
        tests: the statistical tests that were made.
    """

    name: str
    level_reached: str | None = None
    reasons: tuple[str, ...] = ()
    tests: tuple[Test, ...] = ()

    @property
    def exit_code(self) -> int:
        """What the command ends with: 0 pass, 1 divergence, 3 a run failed, 4 undecided."""
        return EXIT_CODES[self.name]


def judge(plan: Plan, findings: Findings, *, expects_metrics: bool = False) -> Verdict:
    """Decide, in the order of the module's description.

    Args:
        plan: what was asked.
        findings: what was found.
        expects_metrics: whether the command was told where to write metrics, so that it is a
            fault if there are none.
    """
    failed = [r for r in findings.records if not r.ok]
    parts = reasons_of(findings.comparisons)
    if failed:
        reasons = tuple(f"{r.name} {r.status}: {r.problem}." for r in failed)
        return Verdict(RUN_FAILED, None, reasons + parts)
    without = not any(r.points for r in findings.records)
    if without and (expects_metrics or not any(r.state.entries for r in findings.records)):
        return Verdict(INCONCLUSIVE, None, (_nothing(findings), *parts))
    dead = _dead(findings)
    if dead is not None:
        return replace(dead, reasons=dead.reasons + parts)
    if all(c.equal for c in findings.comparisons):
        return _equal(plan, findings, parts)
    return _different(plan, findings, parts)


def _nothing(findings: Findings) -> str:
    state = findings.records[0].state if findings.records else None
    missing = "No run wrote metrics where they were looked for (the file {metrics}, or what --metrics-from names)"
    if state is not None and state.entries:
        return f"{missing}, so that only final states could be compared."
    return f"{missing}, and there is no final state ({state.problem if state else 'no run'})."


def _dead(findings: Findings) -> Verdict | None:
    alive = {control.name: control.alive for control in findings.controls}
    if alive.get("other") is False:
        return Verdict(SEED_IGNORED, None, (seed_ignored(alive.get("unseeded")),))
    if alive.get("unseeded") is False:
        return Verdict(DEAD_CONTROL, None, (dead_control(alive.get("other")),))
    return None


def _equal(plan: Plan, findings: Findings, parts: tuple[str, ...]) -> Verdict:
    if not findings.comparisons:
        return Verdict(INCONCLUSIVE, None, ("No two runs could be compared.",))
    unproven = _unproven(findings)
    if unproven:
        return Verdict(INCONCLUSIVE, None, (unproven, *parts))
    if findings.all_rounded and not findings.has_state:
        reason = (
            f"All values are equal, but {', '.join(findings.rounded)} were rounded when they were"
            " logged, and there is no final state: small differences could not be seen."
        )
        verdict = PASS if plan.level == "statistical" else INCONCLUSIVE
        return Verdict(verdict, "statistical", (reason, *parts))
    return Verdict(PASS, "bitwise", parts)


def _unproven(findings: Findings) -> str:
    """Return why equality says nothing about resuming; "" where it does."""
    if findings.endless:
        return (
            "The half runs report as many values as the full ones: the script does not stop where"
            " it is told to, by {epochs} in its command or by REPROSEED_EPOCHS."
        )
    if findings.restarted:
        return (
            f"{findings.restarted[0]} reports the epochs before the resume point again: it began"
            " anew (is {resume}, or REPROSEED_RESUME, used?) or wrote its whole history once more."
            " Equal values then prove nothing about resuming."
        )
    resumed = findings.of("resume")
    if resumed and not any(c.compared or c.state[0] for c in resumed):
        return "The resumed runs reported nothing: no metric and no final state."
    return ""


def _different(plan: Plan, findings: Findings, parts: tuple[str, ...]) -> Verdict:
    size = worst(findings.comparisons)
    if size == "logic" or _resume_grows_alone(findings):
        return Verdict(FAIL, None, parts)
    tests = tests_of(findings)
    grown = [c for c in findings.comparisons if c.early_ulp > ROUNDING_ULP]
    early = f"the first {EARLY:.0%} of the steps"
    if size == "rounding" and not grown:
        reached: str | None = "rounding"
        note = f"All differences within {early} stay within {ROUNDING_ULP} ULP."
    elif size == "rounding":
        reached = None
        note = f"The differences begin at rounding level but grow to {grown[0].early_ulp:.3g} ULP within {early}."
    else:
        reached = None
        note = (
            f"The first difference lies between {ROUNDING_ULP} and {LOGIC_ULP} ULP, or cannot be"
            " measured: too large for reordered sums, too small for a plain fault."
        )
    if plan.level != "statistical":
        passed = plan.level == "rounding" and reached == "rounding"
        return Verdict(PASS if passed else FAIL, reached, (*parts, note), tests)
    return _statistical(size, reached, (*parts, note), tests)


def _resume_grows_alone(findings: Findings) -> bool:
    """Whether noise hides a fault: resumed runs grow to its size at once, and no others do."""
    grown = {c.name for c in findings.comparisons if c.growth == "logic"}
    return grown == {"resume"} and bool(findings.of("repeat"))


def _statistical(size: str, reached: str | None, reasons: tuple[str, ...], tests: tuple[Test, ...]) -> Verdict:
    made = [t for t in tests if t.applicable]
    spread = [t for t in made if t.name.startswith("Brown")]
    same = [t for t in made if t.name.startswith("equivalence")]
    outside = [t for t in same if t.interval and (t.interval[0] > 0.5 or t.interval[1] < -0.5)]
    if outside:
        reason = (
            f"The resumed runs end elsewhere than the full ones: {outside[0].metric} by"
            f" {outside[0].statistic or 0:.2g} SD of the unseeded runs."
        )
        return Verdict(FAIL, reached, (*reasons, reason), tests)
    quiet = [t for t in spread if not _significant(t)]
    open_ = [t for t in same if not _significant(t)]
    if size == "rounding" and spread and same and not quiet and not open_:
        reason = (
            "The seeded runs spread less than the unseeded ones in every metric, and the resumed"
            " runs end within ±0.5 SD of the full ones."
        )
        return Verdict(PASS, reached or "statistical", (*reasons, reason), tests)
    if not spread or not same:
        reason = f"The tests need {FEWEST_FOR_STATISTICS} runs in each of the arms that they compare."
    elif quiet:
        reason = f"It is not shown that seeded runs spread less than unseeded: {quiet[0].metric}."
    elif open_:
        reason = f"It is not shown that resumed runs end where the full ones do: {open_[0].metric}."
    else:
        reason = "The runs agree in distribution, but the first difference is too large for rounding."
    return Verdict(INCONCLUSIVE, reached, (*reasons, reason), tests)


def _significant(test: Test) -> bool:
    return test.p_adjusted is not None and test.p_adjusted < 0.05
