"""Is one version of a script better than another? Both are run with the same seeds.

Pairing takes out of the difference what both have in common (the same initial weights, the same
order of the data), so that fewer runs are needed. The decision follows Bouthillier et al. 2021:
the probability that a run of the second beats its pair must be shown to exceed one half, and be
large enough to matter.
"""

from __future__ import annotations

import math
import statistics
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
from reproseed.verify.statistics import mean_interval, probability_of_improvement

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

FORMAT = "reproseed.compare/1"
MEANINGFUL = 0.75
"""The probability of improvement from which on it matters, as Bouthillier et al. propose."""


@dataclass
class CompareReport(Saved):
    """The outcome of `compare_versions`.

    Attributes:
        metric: the metric whose final value was taken.
        better: `lower` or `higher`.
        templates: the two commands.
        first, second: the final values, in pairs of the same seed.
        notes: what must be known to read them.
        records: all runs.
        out: the folder of runs and report.
    """

    metric: str
    better: str
    templates: tuple[str, str]
    first: list[float]
    second: list[float]
    notes: list[str]
    records: list[RunRecord]
    threads: int
    out: Path
    pictures: dict[str, str] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """0, or 3 if a run failed."""
        return 0 if all(r.ok for r in self.records) else 3

    @property
    def differences(self) -> list[float]:
        """Second minus first, by pair."""
        return [b - a for a, b in zip(self.first, self.second, strict=True)]

    @property
    def mean_difference(self) -> tuple[float, float, float]:
        """The mean of the paired differences with its 95 % Student interval."""
        return mean_interval(self.differences)

    @property
    def improvement(self) -> tuple[float, float, float]:
        """The probability that a run of the second beats its pair, with its 95 % interval."""
        return probability_of_improvement(self.first, self.second, better=self.better)

    @property
    def unpaired_runs(self) -> float:
        """How many runs a side an unpaired comparison needs for an equally narrow interval.

        The variance of an unpaired difference is the sum of the two variances. Infinite if all
        paired differences are equal.
        """
        apart = statistics.variance(self.first) + statistics.variance(self.second)
        together = statistics.variance(self.differences)
        if together <= apart * 1e-20:  # nothing but the rounding of the subtraction
            return math.inf if apart > 0 else float(len(self.first))
        return math.ceil(len(self.first) * apart / together * (1 - 1e-9))

    @property
    def headline(self) -> str:
        """The outcome in a few words."""
        p, low, high = self.improvement
        if not any(self.differences):
            return "The two versions give equal results"
        if low > 0.5:
            return "The second is better" + ("" if p >= MEANINGFUL else ", but not by much")
        if high < 0.5:
            return "The first is better" + ("" if p <= 1 - MEANINGFUL else ", but not by much")
        return "No difference is shown"

    def rows(self) -> list[tuple[str, str, str]]:
        """Return the table: what, estimate, interval."""
        mean, low, high = self.mean_difference
        p, p_low, p_high = self.improvement
        unpaired = self.unpaired_runs
        runs = f"{unpaired:,.0f} a side" if math.isfinite(unpaired) else "no number is enough"
        return [
            ("mean of the first", f"{statistics.fmean(self.first):.6g}", ""),
            ("mean of the second", f"{statistics.fmean(self.second):.6g}", ""),
            ("second - first, paired", f"{mean:.4g}", f"{low:.4g} to {high:.4g}"),
            ("probability that the second is better", f"{p:.2f}", f"{p_low:.2f} to {p_high:.2f}"),
            ("runs made", f"{len(self.first)} a side", ""),
            ("runs that an unpaired comparison would need", runs, ""),
        ]

    def content(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "format": FORMAT,
            "templates": list(self.templates),
            "metric": self.metric,
            "better": self.better,
            "headline": self.headline,
            "first": [number(v) for v in self.first],
            "second": [number(v) for v in self.second],
            "difference": [number(v) for v in self.mean_difference],
            "probability_of_improvement": [number(v) for v in self.improvement],
            "meaningful_from": MEANINGFUL,
            "unpaired_runs": number(self.unpaired_runs),
            "notes": self.notes,
            "environment": environment(self.threads),
        }

    def figures(self) -> dict[str, Figure]:
        """Return the picture as a matplotlib figure, by name."""
        from reproseed.verify.study_page import plot_compare

        return {"pairs": plot_compare(self)}

    def to_html(self) -> str:
        """Return one self-contained HTML page, with its picture inside."""
        from reproseed.verify.study_page import compare_page

        return compare_page(self)

    def fragment(self) -> str:
        """Return what stands on the page, without the page."""
        from reproseed.verify.study_page import compare_fragment

        return compare_fragment(self)


def compare_versions(
    first: str | Sequence[str],
    second: str | Sequence[str],
    *,
    metric: str | None = None,
    better: str = "lower",
    repeats: int = 10,
    epochs: int = 4,
    seed: int = 42,
    metrics_from: str | None = None,
    out: str | Path = "reproseed-compare",
    jobs: int = 1,
    timeout: float | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> CompareReport:
    """Run two versions of a script with the same seeds and compare a metric's final values.

    Args:
        first: the command of one version.
        second: the command of the other.
        metric: the metric; default: the first that is reported.
        better: whether `lower` or `higher` values are better.
        repeats: pairs of runs, at least 4. An interval of the probability of improvement that
            lies above one half needs 6 pairs even if all agree; 29 are recommended for small gains.
        epochs: epochs of every run.
        seed: the master seed from which the others are derived, in [0, 2**64).
        metrics_from: where the metrics are, as `MetricsSource.parse` reads it.
        out: the folder for runs and report.
        jobs: how many runs go on at once.
        timeout: seconds that a run may take.
        threads: threads of each run.
        progress: called after each run.

    Raises:
        UsageError: too few runs, no such metric, or fewer than 4 whole pairs left.

    ```python
    compare_versions("python a.py --seed {seed}", "python b.py --seed {seed}", metric="eval/loss")
    ```
    """
    if better not in {"lower", "higher"}:
        raise UsageError(f"better is {better!r}; it must be lower or higher.")
    if repeats < FEWEST_FOR_STATISTICS:
        raise UsageError(f"repeats is {repeats}; a comparison needs at least {FEWEST_FOR_STATISTICS} pairs.")
    records: list[RunRecord] = []
    runners = []
    for side, template in (("first", first), ("second", second)):
        runner = make_runner(
            template,
            Path(out) / side,
            metrics_from=metrics_from,
            jobs=jobs,
            timeout=timeout,
            threads=threads,
            progress=_counted(progress, len(records), 2 * repeats),
        )
        runners.append(runner)
        records += run_each(runner, _jobs(side, repeats, epochs, seed))
    chosen = choose_metric(records, metric)
    pairs, lost = _pairs(records, chosen, repeats)
    return CompareReport(
        chosen,
        better,
        (str(runners[0].template), str(runners[1].template)),
        [a for a, _ in pairs],
        [b for _, b in pairs],
        [*failures(records), *lost],
        records,
        runners[0].threads or 1,
        Path(out).resolve(),
    )


def _jobs(side: str, repeats: int, epochs: int, seed: int) -> list[Job]:
    return [Job(f"{side}-{i}", side, i, derive_seed(seed, "compare", i), 0, epochs, epochs) for i in range(repeats)]


def _pairs(records: Sequence[RunRecord], metric: str, repeats: int) -> tuple[list[tuple[float, float]], list[str]]:
    values = final_values(records, metric)
    pairs = [
        (values[f"first-{i}"], values[f"second-{i}"])
        for i in range(repeats)
        if {f"first-{i}", f"second-{i}"} <= set(values)
    ]
    if len(pairs) < FEWEST_FOR_STATISTICS:
        problem = next(iter(failures(records)), f"not every run reported {metric}.")
        raise UsageError(
            f"only {len(pairs)} of {repeats} pairs are whole; at least {FEWEST_FOR_STATISTICS} are needed. {problem}"
        )
    lost = repeats - len(pairs)
    return pairs, [f"{lost} pairs are left out, since one of their runs gave no value."] * (lost > 0)


def _counted(progress: Progress | None, before: int, total: int) -> Progress | None:
    """Count the runs of both sides as one series."""
    if progress is None:
        return None

    def report(record: RunRecord, done: int, of: int, left: float | None) -> None:
        # The second side is taken to need as long as the first.
        more = None if left is None or before else left + record.seconds * (total - of)
        progress(record, before + done, total, left if before else more)

    return report


def print_compare(report: CompareReport, console: Console) -> None:
    """Print the table of a comparison and its notes."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in (report.metric, "estimate", "95 % interval"):
        table.add_column(name)
    for row in report.rows():
        table.add_row(*row)
    console.print(f"[bold]{report.headline}[/] ({report.better} is better)", highlight=False)
    console.print(table)
    for note in report.notes:
        console.print(f"Mind: {note}", markup=False, highlight=False)
