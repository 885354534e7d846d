"""The five pictures of a verification, each a function that returns a matplotlib figure.

Nothing here touches pyplot, so that a notebook's own figures are left alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from reproseed.verify.curves import MOST, Curve, curves_of, main_metric, x_label
from reproseed.verify.differences import CLASSES, Comparison
from reproseed.verify.figures import (
    ARM_COLOURS,
    CLASS_COLOURS,
    CLASS_WORDS,
    FAINT,
    FONT,
    INK,
    dress,
    legend,
    new_figure,
)
from reproseed.verify.findings import Findings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from reproseed.verify.report import VerifyReport

_DASHES = {"full": "-", "half": (0, (5, 2)), "resume": (0, (2, 1.5)), "unseeded": "-", "other": "-"}
_FLOOR = 2.0**-24
CAPTIONS = {
    "difference": "How far each run is from the first full one. Runs on a row at the foot are"
    " bit-equal; rounding starts about the dotted line, a fault far above it.",
    "strip": "Where runs part first. Each row is a pair of runs, its last cell the final state."
    " The controls at the foot (unseeded, other) must differ.",
    "overlay": "Mean and range of each arm. Full, half and resumed runs must lie on one line.",
    "arms": "Every run by itself. Only the unseeded runs may differ from each other.",
    "final": "The mean of the last values of each run, and the standard deviation by arm.",
}


def figures(report: VerifyReport) -> dict[str, Figure]:
    """Return the pictures that the runs allow, by name, the most telling first."""
    findings = report.findings
    found = {}
    metric = main_metric(findings)
    if metric is not None:
        found["difference"] = plot_difference(findings, metric)
    if findings.comparisons:
        found["strip"] = plot_strip(findings)
    if metric is not None:
        found["overlay"] = plot_overlay(findings, metric)
        found["arms"] = plot_arms(findings, metric)
        found["final"] = plot_final(findings, metric)
    return found


def plot_arms(findings: Findings, metric: str) -> Figure:
    """Draw small multiples: one panel an arm, one line a run, axes in common."""
    curves = curves_of(findings, metric)
    figure = new_figure(0.6 + 0.85 * len(curves))
    panels = figure.subplots(len(curves), 1, sharex=True, sharey=True, squeeze=False)
    for (arm, runs), axes in zip(curves.items(), panels[:, 0], strict=True):
        dress(axes, title=f"{arm}, {len(runs)} {'run' if len(runs) == 1 else 'runs'}")
        for xs, ys in runs:
            _line(axes, xs, ys, color=ARM_COLOURS[arm], alpha=0.8, linewidth=1.1)
    _scale(panels[0, 0], curves)
    panels[-1, 0].set_xlabel(x_label(findings, metric), fontsize=FONT, color=INK)
    figure.supylabel(metric, fontsize=FONT, color=INK)
    return figure


def plot_overlay(findings: Findings, metric: str) -> Figure:
    """Draw mean and range of every arm over each other, and the resume point."""
    figure = new_figure(3.2)
    axes = figure.subplots()
    dress(axes, x=x_label(findings, metric), y=metric)
    for arm, runs in curves_of(findings, metric).items():
        length = min(len(ys) for _, ys in runs)
        xs = runs[0][0][:length]
        columns = [[ys[i] for _, ys in runs] for i in range(length)]
        means = [sum(column) / len(column) for column in columns]
        colour = ARM_COLOURS[arm]
        axes.fill_between(
            xs,
            list(map(min, columns)),
            list(map(max, columns)),
            color=colour,
            alpha=0.2,
            linewidth=0,
        )
        width = 3.4 if arm == "full" else 1.6
        alpha = 0.5 if arm == "full" else 1.0
        _line(axes, xs, means, color=colour, linestyle=_DASHES[arm], linewidth=width, alpha=alpha,
              label=arm)  # fmt: skip
    _scale(axes, curves_of(findings, metric))
    _resume_mark(axes, findings, metric)
    legend(axes, 5)
    return figure


def plot_difference(findings: Findings, metric: str) -> Figure:
    """Draw |run - first full run| on a log scale with the rounding floor of float32."""
    figure = new_figure(3.4)
    axes = figure.subplots()
    dress(axes, x=x_label(findings, metric), y=f"|difference| of {metric}")
    axes.set_yscale("log")
    curves = curves_of(findings, metric)
    base_x, base = curves["full"][0]
    at = dict(zip(base_x, base, strict=True))
    floor = [abs(y) * _FLOOR or math.ulp(0.0) for y in base]
    finite = [f for f in floor if math.isfinite(f) and f > 1e-300] or [1e-8]
    gaps = {
        arm: [(xs, [_gap(at.get(x), y) for x, y in zip(xs, ys, strict=True)]) for xs, ys in runs]
        for arm, runs in curves.items()
    }
    gaps["full"] = gaps["full"][1:]
    positive = [g for runs in gaps.values() for _, ys in runs for g in ys if 0 < g < math.inf]
    lowest = min([*finite, *positive])
    rows = [lowest * 10.0 ** -(1.5 + 0.6 * i) for i in range(len(gaps))]
    for row, (arm, runs) in zip(rows, gaps.items(), strict=True):
        for index, (xs, ys) in enumerate(runs):
            _gap_line(axes, xs, ys, row, ARM_COLOURS[arm], arm if index == 0 else None)
    axes.plot(base_x, floor, color=FAINT, linewidth=1, linestyle=(0, (1, 1)), label="float32 rounding")
    axes.axhline(lowest / 10**0.5, color=FAINT, linewidth=0.6)
    axes.set_ylim(rows[-1] / 10**0.5, max([*finite, *positive]) * 10**0.7)
    foot = axes.get_yaxis_transform()
    axes.text(0.995, lowest / 10**0.6, "bit-equal ", transform=foot, ha="right", va="top",
              fontsize=FONT - 1, color=INK)  # fmt: skip
    _resume_mark(axes, findings, metric)
    legend(axes, 3)
    return figure


def plot_final(findings: Findings, metric: str) -> Figure:
    """Draw the final value of every run, with mean and SD of each arm."""
    chosen = [s for s in findings.summaries if s.metric == metric and s.arm != "half"]
    figure = new_figure(2.9)
    axes = figure.subplots()
    dress(axes, y=f"{metric}, final")
    labels = []
    for index, summary in enumerate(chosen):
        count = len(summary.values)
        offsets = [0.28 * (i / (count - 1) - 0.5) if count > 1 else 0.0 for i in range(count)]
        xs = [index + offset for offset in offsets]
        axes.plot(xs, summary.values, "o", color=ARM_COLOURS[summary.arm], markersize=4.5, alpha=0.85)
        if math.isfinite(summary.sd):
            axes.errorbar([index + 0.28], [summary.mean], yerr=[summary.sd], fmt="_", capsize=3,
                          color=INK, linewidth=1, markersize=7)  # fmt: skip
        sd = f"SD {summary.sd:.2g}" if math.isfinite(summary.sd) else "one run"
        labels.append(f"{summary.arm}\n{sd}")
    axes.set_xticks(range(len(chosen)), labels)
    axes.set_xlim(-0.5, len(chosen) - 0.5)
    axes.grid(False, axis="x")
    return figure


def plot_strip(findings: Findings) -> Figure:
    """Draw the class of every compared step, one row a pair of runs."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    pairs = [
        *findings.comparisons,
        *(c for control in findings.controls for c in control.comparisons),
    ]
    steps = max(1, *(len(c.sizes) for c in pairs))
    width = math.ceil(steps / (MOST // 4))
    bins = math.ceil(steps / width)
    figure = new_figure(1.0 + min(0.24 * len(pairs), max(3.5, 0.15 * len(pairs))))
    axes = figure.subplots()
    dress(axes, x="compared step, in order; then the final state")
    colours = ListedColormap([CLASS_COLOURS[name] for name in CLASSES])
    gap = max(1, steps // 40)
    # Every other row is an empty one, thin, so that the ground shows between the pairs.
    rows = [row for c in pairs for row in (_cells(c, steps, width), [math.nan] * (bins + 2))]
    edges = [edge for i in range(len(pairs)) for edge in (i, i + 0.85)]
    axes.pcolormesh(
        [*range(0, steps, width), steps, steps + gap, steps + 3 * gap],
        [*edges, len(pairs)],
        rows,
        cmap=colours,
        vmin=-0.5,
        vmax=len(CLASSES) - 0.5,
        edgecolors="face",
        linewidth=0.5,  # else seams show between the cells
    )
    axes.invert_yaxis()
    axes.set_yticks([i + 0.42 for i in range(len(pairs))], [_row_name(c) for c in pairs])
    axes.tick_params(axis="y", length=0)
    axes.grid(False)
    axes.set_xlim(0, steps + 3 * gap)
    axes.spines["left"].set_visible(False)
    handles = [Patch(color=CLASS_COLOURS[name], label=CLASS_WORDS[name]) for name in CLASSES]
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=4, frameon=False,
                fontsize=FONT - 1, labelcolor=INK, borderaxespad=0.2, handlelength=1,
                columnspacing=1.2)  # fmt: skip
    return figure


def _cells(comparison: Comparison, steps: int, width: int) -> list[float]:
    """Return the worst class of every `width` steps, a gap, and the class of the final state."""
    sizes = [float(CLASSES.index(size)) for size in comparison.sizes]
    missing = [math.nan] * (steps - len(sizes))
    fine = [*missing, *sizes] if comparison.name == "resume" else [*sizes, *missing]
    row = [
        max((size for size in fine[i : i + width] if not math.isnan(size)), default=math.nan)
        for i in range(0, steps, width)
    ]
    if not comparison.state[0]:
        return [*row, math.nan, math.nan]
    return [*row, math.nan, float(CLASSES.index(comparison.state_size))]


def _row_name(comparison: Comparison) -> str:
    return comparison.b if comparison.a == "full-0" else f"{comparison.b} / {comparison.a}"


def _scale(axes: Axes, curves: dict[str, list[Curve]]) -> None:
    """Use a log scale where a linear one would press most of the run onto the axis."""
    values = [y for runs in curves.values() for _, ys in runs for y in ys if math.isfinite(y)]
    if values and min(values) > 0 and max(values) > 30 * min(values):
        axes.set_yscale("log")


def _resume_mark(axes: Axes, findings: Findings, metric: str) -> None:
    curves = curves_of(findings, metric)
    if "half" not in curves or "resume" not in curves:
        return
    before, after = curves["half"][0][0], curves["resume"][0][0]
    if before and after and before[-1] < after[0]:
        x = (before[-1] + after[0]) / 2
        axes.axvline(x, color=INK, linewidth=0.8, linestyle=(0, (4, 3)), alpha=0.7)
        axes.annotate("resumed", (x, 1), xycoords=axes.get_xaxis_transform(), xytext=(3, -2),
                      textcoords="offset points", va="top", fontsize=FONT - 1,
                      color=INK)  # fmt: skip


def _gap(a: float | None, b: float) -> float:
    if a is None:
        return math.nan
    return 0.0 if a == b or (math.isnan(a) and math.isnan(b)) else abs(a - b)


def _gap_line(axes: Axes, xs: Sequence[float], ys: Sequence[float], row: float, colour: str, label: str | None) -> None:
    differ = [y if y > 0 else math.nan for y in ys]
    equal = [row if y == 0 else math.nan for y in ys]
    _line(axes, xs, differ, color=colour, linewidth=1.2, alpha=0.9, label=label)
    axes.plot(xs, equal, ".", color=colour, markersize=3, alpha=0.9)


def _line(axes: Axes, xs: Sequence[float], ys: Sequence[float], **style: object) -> None:
    """Draw a line, with marks where it has few points: a single one would be invisible."""
    if len(xs) <= 3:
        style |= {"marker": "o", "markersize": 3}
    axes.plot(xs, ys, **style)  # type: ignore[arg-type]  # matplotlib's own keywords
