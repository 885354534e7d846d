"""What the pictures of a verification draw: one metric's values by run, over common positions."""

from __future__ import annotations

import itertools
import math

from reproseed.verify.figures import ARM_COLOURS
from reproseed.verify.findings import Findings
from reproseed.verify.metrics import by_name

MOST = 1000
"""Points of a line, and cells of a row, in a picture: no more can be seen, and each costs bytes."""
Curve = tuple[list[float], list[float]]


def curves_of(findings: Findings, metric: str) -> dict[str, list[Curve]]:
    """Return x and y of every run by arm; resumed runs lie at the end of the full run's x."""
    steps = _steps(findings, metric)
    xs = [float(i if step is None else step) for i, step in enumerate(steps)]
    stride = math.ceil(len(xs) / MOST)
    found: dict[str, list[Curve]] = {}
    for arm in ARM_COLOURS:
        for run in findings.arm(arm):
            ys = [p.value for p in by_name(run.points).get(metric, [])][: len(xs)]
            start = len(xs) - len(ys) if arm == "resume" else 0
            # Runs keep the same positions, so that they can be subtracted.
            kept = [i for i in range(len(ys)) if (start + i) % stride == 0 or i == len(ys) - 1]
            if ys:
                found.setdefault(arm, []).append(([xs[start + i] for i in kept], [ys[i] for i in kept]))
    return found


def main_metric(findings: Findings) -> str | None:
    """Return the metric to draw: that of the first difference, else a loss, else the first."""
    full = findings.arm("full")
    names = list(by_name(full[0].points)) if full else []
    for comparison in findings.comparisons:
        if comparison.first is not None and comparison.first.metric in names:
            return comparison.first.metric
    return next((n for n in names if "loss" in n.lower()), names[0] if names else None)


def x_label(findings: Findings, metric: str) -> str:
    """Return what x counts."""
    return "value, in order" if None in _steps(findings, metric) else "step"


def _steps(findings: Findings, metric: str) -> list[int | None]:
    """Return the steps of the full run's values; None for each unless they rise throughout."""
    points = by_name(findings.arm("full")[0].points).get(metric, [])
    steps = [p.step for p in points if p.step is not None]
    rising = all(a < b for a, b in itertools.pairwise(steps)) and len(steps) == len(points)
    return [step if rising else None for step in (p.step for p in points)]
