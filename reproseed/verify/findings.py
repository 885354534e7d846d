"""What the runs of a plan show: comparisons of arms, controls, and summaries by arm.

Nothing is judged here; see `verdict`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reproseed.verify import alignment
from reproseed.verify.arms import ARMS
from reproseed.verify.differences import Comparison, compare_runs
from reproseed.verify.metrics import Point, by_name, quantum, summaries
from reproseed.verify.runs import RunRecord


@dataclass(frozen=True)
class Control:
    """Whether runs that must differ do.

    Attributes:
        name: `unseeded` or `other`.
        alive: whether they differ; None where that could not be seen.
        comparisons: the pairs that were compared.
    """

    name: str
    alive: bool | None
    comparisons: tuple[Comparison, ...] = ()


@dataclass(frozen=True)
class ArmSummary:
    """One metric's final value over the runs of one arm."""

    arm: str
    metric: str
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean over the runs."""
        return sum(self.values) / len(self.values)

    @property
    def sd(self) -> float:
        """The sample SD over the runs; NaN for one run."""
        if len(self.values) < 2:
            return math.nan
        if min(self.values) == max(self.values):
            return 0.0  # their mean may be rounded
        square = sum((v - self.mean) ** 2 for v in self.values)
        return math.sqrt(square / (len(self.values) - 1))


@dataclass(frozen=True)
class Findings:
    """Everything that was found, before judgement."""

    records: tuple[RunRecord, ...]
    comparisons: tuple[Comparison, ...]
    controls: tuple[Control, ...]
    summaries: tuple[ArmSummary, ...]
    rounded: tuple[str, ...]
    """The metrics that were rounded when they were logged."""

    def of(self, name: str) -> list[Comparison]:
        """The comparisons of one name."""
        return [c for c in self.comparisons if c.name == name]

    def arm(self, name: str) -> list[RunRecord]:
        """The runs of one arm that ended well."""
        return [r for r in self.records if r.job.arm == name and r.ok]

    def record(self, name: str) -> RunRecord:
        """The run of a name, such as `full-0`."""
        return next(r for r in self.records if r.name == name)

    @property
    def metrics(self) -> list[str]:
        """The names of all metrics, in the order of their first report."""
        return list(by_name(p for r in self.records if r.ok for p in r.points))

    @property
    def endless(self) -> bool:
        """Whether the half runs report as much as the full ones: they do not stop."""
        full, half = self.arm("full"), self.arm("half")
        return bool(full and half and half[0].points) and all(len(r.points) >= len(full[0].points) for r in half)

    @property
    def restarted(self) -> list[str]:
        """The resumed runs that report all epochs again, as if they began anew."""
        full = self.arm("full")
        if not full or not full[0].points or self.endless:
            return []
        return [r.name for r in self.arm("resume") if len(r.points) >= len(full[0].points)]

    @property
    def all_rounded(self) -> bool:
        """Whether no metric can show a small difference."""
        return bool(self.rounded) and not self._precise()

    @property
    def has_state(self) -> bool:
        """Whether final states were compared."""
        return any(c.state[0] for c in self.comparisons)

    def _precise(self) -> bool:
        series = by_name(p for r in self.arm("full") for p in r.points)
        return any(
            name not in self.rounded and not all(p.value == int(p.value) for p in points if math.isfinite(p.value))
            for name, points in series.items()
        )


def find(records: Sequence[RunRecord]) -> Findings:
    """Compare the runs of a plan that ended well."""
    arms = {arm: [r for r in records if r.job.arm == arm and r.ok] for arm in ARMS}
    series = by_name(p for r in arms["full"] for p in r.points)
    return Findings(
        tuple(records),
        tuple(_comparisons(arms)),
        tuple(_controls(arms)),
        tuple(_summaries(arms)),
        tuple(name for name, points in series.items() if quantum(points) is not None),
    )


def tails(findings: Findings) -> tuple[dict[str, list[Point]], list[dict[str, list[Point]]]]:
    """Return, by metric, the full run's values after the resume point, and those resumed."""
    first = findings.arm("full")[0]
    half = {r.job.repeat: r for r in findings.arm("half")}
    expected: list[Point] = []
    moved = []
    for run in findings.arm("resume"):
        expected, theirs, _ = alignment.tail(first.points, half[run.job.repeat].points, run.points)
        moved.append(by_name(theirs))
    return by_name(expected), moved


def _comparisons(arms: dict[str, list[RunRecord]]) -> list[Comparison]:
    if not arms["full"]:
        return []
    first, *others = arms["full"]
    found = [_whole("repeat", first, other) for other in others]
    halves = {half.job.repeat: half for half in arms["half"]}
    for half in halves.values():
        expected, theirs, note = alignment.prefix(first.points, half.points)
        if not expected and not theirs and not half.points and not first.points:
            continue  # a script without metrics: its half run has nothing to compare
        found.append(compare_runs("prefix", first.name, half.name, expected, theirs, note=note))
    for run in arms["resume"]:
        before = halves[run.job.repeat]
        expected, theirs, note = alignment.tail(first.points, before.points, run.points)
        states = (first.state.entries, run.state.entries)
        found.append(compare_runs("resume", first.name, run.name, expected, theirs, *states, note=note))
    return found


def _controls(arms: dict[str, list[RunRecord]]) -> list[Control]:
    controls = []
    if arms["unseeded"]:
        first, *others = arms["unseeded"]
        pairs = tuple(_whole("unseeded", first, other) for other in others)
        controls.append(Control("unseeded", _any_differs(pairs), pairs))
    if arms["other"] and arms["full"]:
        pairs = tuple(_whole("other", arms["full"][0], other) for other in arms["other"])
        controls.append(Control("other", _any_differs(pairs), pairs))
    return controls


def _any_differs(pairs: Sequence[Comparison]) -> bool | None:
    if not any(c.compared or c.state[0] for c in pairs):
        return None
    return any(not c.equal for c in pairs)


def _whole(name: str, a: RunRecord, b: RunRecord) -> Comparison:
    states = (a.state.entries, b.state.entries)
    return compare_runs(name, a.name, b.name, a.points, b.points, *states)


def _summaries(arms: dict[str, list[RunRecord]]) -> list[ArmSummary]:
    length = {n: len(p) for r in arms["full"][:1] for n, p in by_name(r.points).items()}
    found = []
    for arm, runs in arms.items():
        series = [by_name(r.points) for r in runs]
        for metric in dict.fromkeys(name for s in series for name in s):
            values = [
                summaries(s[metric], 0 if arm == "half" else length.get(metric, 0))["final"]
                for s in series
                if metric in s
            ]
            found.append(ArmSummary(arm, metric, tuple(values)))
    return found
