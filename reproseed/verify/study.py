"""Which source of randomness moves a result how much?

One task's stream is varied at a time, through REPROSEED_TASK_SEEDS, with everything else fixed;
then all of them together, by the master seed; and nothing, which shows what seeding does not
reach. The spread of the metric by source follows Bouthillier et al. 2021, "Accounting for variance
in machine learning benchmarks".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reproseed.verify.arms import FEWEST_FOR_STATISTICS, derive_seed
from reproseed.verify.errors import UsageError
from reproseed.verify.paired import choose_metric, failures, final_values, make_runner, run_each
from reproseed.verify.report import environment, number
from reproseed.verify.runs import Job, Progress, RunRecord
from reproseed.verify.saved import Saved
from reproseed.verify.statistics import sd_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

FORMAT = "reproseed.study/1"
EVERYTHING, NOTHING = "all", "none"


@dataclass(frozen=True)
class Source:
    """One source of randomness and the metric's final values over the runs that varied it."""

    name: str
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean over the runs."""
        return sum(self.values) / len(self.values) if self.values else math.nan

    @property
    def spread(self) -> tuple[float, float, float]:
        """The SD over the runs and its 95 % interval (chi-squared; runs taken as normal)."""
        return sd_interval(self.values)


@dataclass
class StudyReport(Saved):
    """The outcome of `study_variance`.

    Attributes:
        metric: the metric whose final value was taken.
        sources: one a task, then `all` and `none`.
        notes: what must be known to read them.
        records: all runs.
        out: the folder of runs and report.
    """

    metric: str
    template: str
    sources: list[Source]
    notes: list[str]
    records: list[RunRecord]
    threads: int
    out: Path
    pictures: dict[str, str] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """0, or 3 if a run failed."""
        return 0 if all(r.ok for r in self.records) else 3

    def share(self, source: Source) -> float:
        """Return a source's variance as part of that of all together; NaN if that is zero."""
        whole = next(s.spread[0] for s in self.sources if s.name == EVERYTHING)
        return (source.spread[0] / whole) ** 2 if whole > 0 else math.nan

    def content(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "format": FORMAT,
            "template": self.template,
            "metric": self.metric,
            "sources": [
                {
                    "name": s.name,
                    "n": len(s.values),
                    "mean": number(s.mean),
                    "sd": number(s.spread[0]),
                    "sd_interval": [number(v) for v in s.spread[1:]],
                    "share": number(self.share(s)),
                    "values": [number(v) for v in s.values],
                }
                for s in self.sources
            ],
            "notes": self.notes,
            "environment": environment(self.threads),
        }

    def figures(self) -> dict[str, Figure]:
        """Return the picture as a matplotlib figure, by name."""
        from reproseed.verify.study_page import plot_study

        return {"spread": plot_study(self)}

    def to_html(self) -> str:
        """Return one self-contained HTML page, with its picture inside."""
        from reproseed.verify.study_page import study_page

        return study_page(self)

    def fragment(self) -> str:
        """Return what stands on the page, without the page."""
        from reproseed.verify.study_page import study_fragment

        return study_fragment(self)

    def rows(self) -> list[tuple[str, int, str, str, str, str]]:
        """Return the table: source, runs, mean, SD, its interval, share of the variance."""
        rows = []
        for source in self.sources:
            sd, low, high = source.spread
            share = self.share(source)
            interval = f"{low:.3g} to {high:.3g}" if sd > 0 else "0"
            shown = f"{share:.0%}" if math.isfinite(share) else ""
            rows.append((source.name, len(source.values), f"{source.mean:.6g}", f"{sd:.3g}",
                         interval, shown))  # fmt: skip
        return rows


def study_variance(
    template: str | Sequence[str],
    *,
    tasks: Sequence[str],
    metric: str | None = None,
    repeats: int = 8,
    epochs: int = 4,
    seed: int = 42,
    metrics_from: str | None = None,
    out: str | Path = "reproseed-study",
    jobs: int = 1,
    timeout: float | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> StudyReport:
    """Run a script with one task's seed varied at a time, and measure the spread by source.

    Args:
        template: the command; the script must use reproseed (or read REPROSEED_TASK_SEEDS).
        tasks: the names of the tasks to vary, such as `init`, `order`, `dropout`.
        metric: the metric whose final value is taken; default: the first that is reported.
        repeats: runs for each source, at least 4.
        epochs: epochs of every run.
        seed: the master seed from which the others are derived, in [0, 2**64).
        metrics_from: where the metrics are, as `MetricsSource.parse` reads it.
        out: the folder for runs and report.
        jobs: how many runs go on at once.
        timeout: seconds that a run may take.
        threads: threads of each run.
        progress: called after each run.

    Raises:
        UsageError: too few runs, no or twice the same task, or no such metric.

    ```python
    study_variance("python train.py --epochs {epochs}", tasks=["init", "order"], metric="eval/loss")
    ```
    """
    _check(tasks, repeats)
    runner = make_runner(
        template,
        out,
        metrics_from=metrics_from,
        jobs=jobs,
        timeout=timeout,
        threads=threads,
        progress=progress,
    )
    records = run_each(runner, _jobs(tasks, repeats, epochs, seed))
    chosen = choose_metric(records, metric)
    values = final_values(records, chosen)
    sources = [
        Source(name, tuple(values[r.name] for r in records if r.job.arm == name and r.name in values))
        for name in (*tasks, EVERYTHING, NOTHING)
    ]
    notes = [*failures(records), *_notes(sources)]
    return StudyReport(chosen, str(runner.template), sources, notes, records, runner.threads or 1, runner.out)


def _check(tasks: Sequence[str], repeats: int) -> None:
    if repeats < FEWEST_FOR_STATISTICS:
        raise UsageError(
            f"repeats is {repeats}; a study needs at least {FEWEST_FOR_STATISTICS} runs a source,"
            " or the intervals say nothing."
        )
    wrong = [t for t in tasks if not t or "=" in t or "," in t or t in {EVERYTHING, NOTHING}]
    if wrong or not tasks or len(set(tasks)) != len(tasks):
        raise UsageError(
            f"tasks is {', '.join(tasks)!r}; expected different names of tasks, as the script"
            f" gives them to seeded(task=...), and neither {EVERYTHING!r} nor {NOTHING!r}."
        )


def _jobs(tasks: Sequence[str], repeats: int, epochs: int, seed: int) -> list[Job]:
    jobs = []
    for index in range(repeats):
        for name in (*tasks, EVERYTHING, NOTHING):
            varied = derive_seed(seed, name, index)
            jobs.append(
                Job(
                    f"{name}-{index}",
                    name,
                    index,
                    varied if name == EVERYTHING else seed,
                    0,
                    epochs,
                    epochs,
                    task_seeds=f"{name}={varied}" if name in tasks else "",
                )
            )
    return jobs


def _notes(sources: Sequence[Source]) -> list[str]:
    notes = []
    spreads = {s.name: s.spread[0] for s in sources}
    for name, sd in spreads.items():
        if sd == 0 and name not in {EVERYTHING, NOTHING}:
            notes.append(
                f"Varying {name} changes nothing: the script draws nothing in"
                f" seeded(task={name!r}), or does not use reproseed."
            )
    if spreads[EVERYTHING] == 0:
        notes.append("The master seed changes nothing: the seed does not reach the script.")
    if spreads[NOTHING] > 0:
        notes.append(
            f"Runs with everything fixed differ too (SD {spreads[NOTHING]:.3g}): that part of every"
            " spread comes from what seeding does not reach; see `reproseed verify`."
        )
    return notes


def print_study(report: StudyReport, console: Console) -> None:
    """Print the table of a study and its notes."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left",
                  title=f"Spread of {report.metric} by what is varied")  # fmt: skip
    for name in ("varied", "runs", "mean", "SD", "95 % interval", "share of variance"):
        table.add_column(name, justify="left" if name == "varied" else "right")
    for row in report.rows():
        table.add_row(*map(str, row))
    console.print(table)
    for note in report.notes:
        console.print(f"Mind: {note}", markup=False, highlight=False)
