"""`verify`: run a script's arms, compare, decide."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reproseed.verify.advice import next_steps, parting, warnings_of
from reproseed.verify.arms import ARMS, Plan
from reproseed.verify.findings import Findings, find
from reproseed.verify.readers import MetricsSource
from reproseed.verify.report import VerifyReport
from reproseed.verify.runner import VARIED, Runner
from reproseed.verify.runs import Job, Progress, RunRecord
from reproseed.verify.template import Template
from reproseed.verify.verdict import FAIL, Verdict, judge

Trace = Callable[[RunRecord, RunRecord], "Mapping[str, Any] | None"]
"""Called with the two runs that part; returns place and cause as plain data, or None.

`RunRecord.argv`, `.env` and `.directory` are what is needed to make each run again. The mapping
is put into report and page as it is; a `summary` in it, one sentence, also into the verdict.
"""

_log = logging.getLogger("reproseed.verify")


def verify(
    template: str | Sequence[str],
    *,
    epochs: int = 4,
    half: int | None = None,
    repeats: int | None = None,
    level: str = "bitwise",
    arms: Sequence[str] = ARMS,
    seed: int = 42,
    metrics: Sequence[str] = (),
    ignore: Sequence[str] = (),
    metrics_from: str | None = None,
    vary: Sequence[str] = VARIED,
    out: str | Path = "reproseed-verify",
    jobs: int = 1,
    timeout: float | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    trace: Trace | None = None,
) -> VerifyReport:
    r"""Run a training script in several arms and decide whether it is reproducible.

    Args:
        template: the command, as an argument vector or as one text; see `reproseed.verify.template`
            for its placeholders. A script that uses reproseed needs `{epochs}` alone, or nothing if
            it reads REPROSEED_EPOCHS.
        epochs: epochs of the full run, at least 2.
        half: the epoch at which the half run stops; default: half of `epochs`.
        repeats: runs of each arm, at least 2; default 3, or 8 at the statistical level.
        level: `bitwise`, `rounding` or `statistical`: what counts as equal.
        arms: the arms to run; full is one of them.
        seed: the master seed of the seeded arms, in [0, 2**64).
        metrics: patterns of the metrics to compare, such as `eval/*`; none: all.
        ignore: patterns of metrics to leave out, such as `*time*`.
        metrics_from: where the metrics are, as `MetricsSource.parse` reads it.
        vary: what differs on purpose from run to run: `hashseed`, `cwd`.
        out: the folder for runs and report; runs of an earlier verification in it are replaced.
        jobs: how many runs go on at once.
        timeout: seconds that a run may take.
        threads: threads of each run.
        progress: called after each run.
        trace: called on a FAIL with the two runs that part; see `Trace`.

    Returns:
        The report; `report.save()` writes page, pictures and JSON.

    Raises:
        TemplateError, UsageError, MetricsError: the arguments are wrong; nothing was run.
        MissingPackageError: the metrics need a package that is not installed.

    A script that fails, hangs or differs raises nothing: the report says so.

    ```python
    report = verify("python train.py --epochs {epochs} [[--seed {seed}]] [[--resume {resume}]]"
                    " --save {save} --metrics {metrics}", epochs=4)
    assert report.passed, report.verdict.reasons
    ```
    """
    plan = Plan(epochs, half, repeats, level, tuple(arms), seed)
    runner = Runner(
        Template.parse(template),
        Path(out),
        MetricsSource.parse(metrics_from),
        tuple(metrics),
        tuple(ignore),
        tuple(vary),
        jobs,
        timeout,
        threads,
        progress,
    )
    findings = find(runner.run(_jobs(plan)))
    told = metrics_from is not None or "metrics" in runner.template.names
    verdict = judge(plan, findings, expects_metrics=told)
    traced = None
    if verdict.name == FAIL and trace is not None:
        traced, verdict = _traced(trace, findings, verdict)
    options = _options(runner, metrics_from)
    return VerifyReport(
        plan,
        str(runner.template),
        findings,
        verdict,
        warnings_of(plan, findings),
        next_steps(plan, findings, verdict, runner.template, options, runner.out),
        runner.threads or 1,
        runner.out,
        traced,
    )


def _jobs(plan: Plan) -> list[list[Job]]:
    return [
        [
            Job(
                f"{arm}-{repeat}",
                arm,
                repeat,
                plan.seed_of(arm, repeat),
                *plan.epochs_of(arm),
                plan.epochs,
                f"half-{repeat}" if arm == "resume" else "",
            )
            for arm, repeat in chain
        ]
        for chain in plan.chains()
    ]


def _traced(trace: Trace, findings: Findings, verdict: Verdict) -> tuple[Mapping[str, Any] | None, Verdict]:
    pair = parting(findings)
    if pair is None:
        return None, verdict
    try:
        found = trace(findings.record(pair.a), findings.record(pair.b))
    except Exception as error:  # a verdict is not lost because its explanation failed
        _log.exception("tracing %s and %s failed", pair.a, pair.b)
        return {"pair": [pair.a, pair.b], "problem": f"the trace failed: {error}"}, verdict
    if not found:
        return None, verdict
    if found.get("summary"):
        verdict = replace(verdict, reasons=(*verdict.reasons, f"Trace: {found['summary']}"))
    return {"pair": [pair.a, pair.b], **found}, verdict


def _options(runner: Runner, metrics_from: str | None) -> list[str]:
    options = []
    for name, values in (("metrics", runner.metrics), ("ignore", runner.ignore)):
        options += [f"--{name}", ",".join(values)] if values else []
    if tuple(runner.vary) != VARIED:
        options += ["--vary", ",".join(runner.vary) or "nothing"]
    options += ["--metrics-from", metrics_from] if metrics_from else []
    options += ["--jobs", str(runner.jobs)] if runner.jobs > 1 else []
    options += ["--timeout", f"{runner.timeout:g}"] if runner.timeout else []
    return options
