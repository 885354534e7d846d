"""What `study` and `compare` share: run jobs, take one metric's final value from each."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from reproseed.verify.errors import UsageError
from reproseed.verify.metrics import by_name, summaries
from reproseed.verify.readers import MetricsSource
from reproseed.verify.runner import Runner
from reproseed.verify.runs import Job, Progress, RunRecord
from reproseed.verify.template import Template

_log = logging.getLogger("reproseed.verify")


def make_runner(
    template: str | Sequence[str],
    out: str | Path,
    *,
    metrics_from: str | None,
    jobs: int,
    timeout: float | None,
    threads: int | None,
    progress: Progress | None,
) -> Runner:
    """Return a runner that varies nothing but what its jobs say.

    The hash seed is the same in all runs: here it would be one more source of variance.
    """
    return Runner(
        Template.parse(template),
        Path(out),
        MetricsSource.parse(metrics_from),
        vary=("cwd",),
        jobs=jobs,
        timeout=timeout,
        threads=threads,
        progress=progress,
    )


def run_each(runner: Runner, jobs: Sequence[Job]) -> list[RunRecord]:
    """Run independent jobs."""
    return runner.run([[job] for job in jobs])


def choose_metric(records: Sequence[RunRecord], wanted: str | None) -> str:
    """Return the metric to look at: the wanted one, or the first that was reported.

    Raises:
        UsageError: it was not reported, or nothing was.
    """
    names = list(by_name(p for r in records if r.ok for p in r.points))
    if wanted is not None and wanted in names:
        return wanted
    if wanted is None and names:
        return names[0]
    failed = [f"{r.name} {r.status}: {r.problem}" for r in records if not r.ok]
    if failed and not names:
        raise UsageError(f"no run gave a metric, since they failed; {failed[0]}.")
    found = f"the runs reported {', '.join(names)}" if names else "the runs reported none"
    raise UsageError(
        f"the metric to look at is {wanted!r}, but {found};"
        " name one of them, or let the script write its metrics to {metrics}."
    )


def final_values(records: Sequence[RunRecord], metric: str) -> dict[str, float]:
    """Return the metric's final value of each run that has one, by the run's name."""
    values = {}
    for record in records:
        points = by_name(record.points).get(metric)
        if record.ok and points:
            values[record.name] = summaries(points)["final"]
        else:
            _log.warning("%s %s: %s", record.name, record.status, record.problem or "no values")
    return values


def failures(records: Sequence[RunRecord]) -> list[str]:
    """Return what is wrong with runs that failed, in sentences."""
    return [f"{r.name} {r.status}: {r.problem}." for r in records if not r.ok]
