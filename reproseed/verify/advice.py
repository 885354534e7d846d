"""What a person should know beside the verdict, and what to do next, as ready commands."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reproseed.verify import verdict as v
from reproseed.verify.arms import Plan
from reproseed.verify.differences import CLASSES, Comparison
from reproseed.verify.findings import Findings
from reproseed.verify.metrics import Point, by_name
from reproseed.verify.runs import RunRecord
from reproseed.verify.template import Template

_EVALUATION = re.compile(r"eval|val|test|acc|metric|perplexity|bleu|f1", re.IGNORECASE)
_RATE = re.compile(r"(^|[/_.])(lr|learning_rate)", re.IGNORECASE)
_TIME = re.compile(r"time|sec|speed|throughput|per_s|/s$|duration|eta|memory", re.IGNORECASE)

_NEEDED = (
    "PYTHONHASHSEED",
    "REPROSEED_MASTER_SEED",
    "REPROSEED_SEEDING",
    "REPROSEED_EPOCHS",
    "REPROSEED_START_EPOCH",
    "REPROSEED_RESUME",
    "REPROSEED_SAVE",
)


@dataclass(frozen=True)
class Step:
    """One thing to do: why, and the command or line of code that does it."""

    why: str
    command: str


def warnings_of(plan: Plan, findings: Findings) -> list[str]:
    """Return what weakens a verdict, or could mislead."""
    warnings = []
    full = findings.arm("full")
    points = [p for r in full for p in r.points]
    if points and not findings.has_state:
        problem = full[0].state.problem
        warnings.append(
            f"Only metrics were compared, not the final state ({problem}). Buffers and averages"
            " that do not enter the metrics can be lost unseen."
        )
    if full and not points:
        warnings.append("No metrics were found, so that a difference has no step; the half run is not compared.")
    if findings.all_rounded:
        warnings.append(f"Rounded when logged: {', '.join(findings.rounded)}. A first difference shows late.")
    if not findings.controls:
        warnings.append("There was no control arm: a script without any randomness passes too.")
    if "resume" in plan.arms and points:
        warnings += _untested(findings, full[0].points)
    warnings += sorted({c.note for c in findings.comparisons if c.note})
    return warnings + _environments(findings.records)


def next_steps(
    plan: Plan,
    findings: Findings,
    verdict: v.Verdict,
    template: Template,
    options: Sequence[str],
    out: Path,
) -> list[Step]:
    """Return what to do next.

    Args:
        plan: what was run.
        findings: what was found.
        verdict: what it came to.
        template: the command.
        options: further options of the command line, to run the same again.
        out: the folder of the runs.
    """

    def again(**changes: object) -> str:
        return _verify(plan, template, options, changes)

    if verdict.name == v.RUN_FAILED:
        return _after_failure(findings, template, out)
    if verdict.name == v.DEAD_CONTROL:
        arms = ",".join(arm for arm in plan.arms if arm != "unseeded")
        arms += "" if "other" in plan.arms else ",other"
        return [Step("take other seeds as the control", again(arms=arms))]
    if verdict.name == v.SEED_IGNORED and "seed" not in template.names:
        return [Step("pass the seed to the script", again(template=f"{template} [[--seed {{seed}}]]"))]
    steps = []
    if verdict.name == v.INCONCLUSIVE:
        steps += _after_doubt(findings)
    if plan.level == "statistical" and verdict.name == v.INCONCLUSIVE:
        steps.append(Step("take more runs", again(repeats=2 * plan.runs_each)))
    if verdict.name == v.FAIL:
        steps += _after_divergence(findings, template, out, again)
        if verdict.level_reached == "rounding":
            steps.append(Step("accept rounding", again(level="rounding")))
    return steps


def parting(findings: Findings) -> Comparison | None:
    """Return the comparison to trace: of the largest growth, of the first kind, earliest."""
    size = max((c.growth for c in findings.comparisons), key=CLASSES.index, default="equal")
    for name in ("repeat", "prefix", "resume"):
        differ = [c for c in findings.of(name) if not c.equal and c.growth == size]
        if differ:
            return min(differ, key=lambda c: c.equal_until)
    return None


def _after_failure(findings: Findings, template: Template, out: Path) -> list[Step]:
    failed = next(r for r in findings.records if not r.ok)
    log = os.path.relpath(failed.directory / "output.log")
    steps = [Step(f"read all that {failed.name} printed", f"less {shlex.quote(log)}")]
    if "ModuleNotFoundError" in failed.output_tail and template.source[0].startswith("python"):
        why = "the command's Python may not be the one that has the packages; name it in full"
        steps.append(Step(why, " ".join([sys.executable, *template.source[1:2], "..."])))
    if failed.status != "skipped":
        steps.append(Step("run it by itself", _alone(failed, template, out)))
    return steps


def _after_doubt(findings: Findings) -> list[Step]:
    line = 'reproseed.verify.log_metric("loss", loss, step=step, epoch=epoch)'
    state = "reproseed.verify.final_state(model=model, optimizer=optimizer)"
    steps = []
    if findings.all_rounded or not findings.metrics:
        steps.append(Step("log in full precision, in the training loop", line))
    if not findings.has_state:
        steps.append(Step("report the final state, at the end of the script", state))
    return steps


def _after_divergence(findings: Findings, template: Template, out: Path, again: Callable[..., str]) -> list[Step]:
    pair = parting(findings)
    if pair is None or pair.first is None:
        return []
    steps = []
    if _TIME.search(pair.first.metric) and not pair.first.metric.startswith("final_state:"):
        why = f"{pair.first.metric} looks like a measurement of time; leave it out"
        steps.append(Step(why, again(ignore=pair.first.metric)))
    if pair.name == "repeat":
        why = "see whether the order of a set is the cause (one PYTHONHASHSEED for all runs)"
        steps.append(Step(why, again(vary="cwd")))
    traces = [f"{name}.trace.jsonl.gz" for name in (pair.a, pair.b)]
    for name, trace in zip((pair.a, pair.b), traces, strict=True):
        command = _alone(findings.record(name), template, out, f"reproseed trace -o {trace} --")
        steps.append(Step(f"trace {name}", command))
    steps.append(Step("name the place and the cause", f"reproseed diff {' '.join(traces)}"))
    return steps


def _alone(record: RunRecord, template: Template, out: Path, prefix: str = "") -> str:
    """Return the shell command that makes one run again; what its arguments say is not repeated."""
    told = {f"REPROSEED_{name.upper()}" for name in template.names}
    shown = [name for name in _NEEDED if name in record.env and name not in told]
    text = [f"{name}={_near(record.env[name], out)}" for name in shown]
    argv = [_near(argument, out) for argument in record.argv]
    return " ".join(filter(None, ["env", shlex.join(text), prefix, shlex.join(argv)]))


def _near(text: str, out: Path) -> str:
    return text.replace(str(out), os.path.relpath(out))


def _verify(plan: Plan, template: Template, options: Sequence[str], changes: Mapping[str, object]) -> str:
    given: dict[str, object] = {"epochs": plan.epochs, "seed": plan.seed}
    if "half" in plan.arms:
        given["half"] = plan.stop
    given |= {"repeats": plan.runs_each, "level": plan.level, "arms": ",".join(plan.arms)}
    command = changes.get("template", str(template))
    given |= {name: value for name, value in changes.items() if name != "template"}
    text = " ".join(f"--{name} {shlex.quote(str(value))}" for name, value in given.items())
    return " ".join(filter(None, ["reproseed verify", shlex.join(options), text, f"-- {command}"]))


def _untested(findings: Findings, points: Sequence[Point]) -> list[str]:
    """Return what the resume point does not exercise."""
    series = by_name(points)
    found = []
    if not findings.has_state and not any(_EVALUATION.search(name) for name in series):
        found.append("No evaluation metric is logged: running statistics are not exercised.")
    halves = findings.arm("half")
    for name, values in series.items():
        before = len(by_name(halves[0].points).get(name, [])) if halves else 0
        if _RATE.search(name) and before and len({p.value for p in values[: before + 1]}) == 1:
            found.append(
                f"{name} does not change before the resume point, so that a lost scheduler may not"
                " show; choose another --half, or more epochs."
            )
    return found


def _environments(records: Sequence[RunRecord]) -> list[str]:
    """Return what differs between the environments that the runs report."""
    found: dict[str, set[str]] = {}
    for record in records:
        for name, value in record.state.environment.items():
            found.setdefault(name, set()).add(str(value))
    return [
        f"The runs had different environments: {name} is {' and '.join(sorted(values))}."
        for name, values in found.items()
        if len(values) > 1
    ]
