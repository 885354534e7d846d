"""Pictures and pages of `study` and `compare`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from reproseed.verify.figures import FAINT, FONT, INK, dress, legend, new_figure
from reproseed.verify.html import document, items, pictures, section, table, wrap

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from reproseed.verify.compare import CompareReport
    from reproseed.verify.study import StudyReport

_COLOURS = ("#3b7fc4", "#2a9d74", "#d97706", "#a05cc4", "#b3263a", "#7a8b2f")


def plot_study(report: StudyReport) -> Figure:
    """Draw every run's final value by source, and the SD of each source with its interval."""
    figure = new_figure(1.3 + 0.42 * len(report.sources))
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    dress(left, x=f"{report.metric}, final")
    dress(right, x="SD, 95 % interval")
    for index, source in enumerate(report.sources):
        colour = _COLOURS[index % len(_COLOURS)]
        ys = [index] * len(source.values)
        left.plot(source.values, ys, "o", color=colour, markersize=4.5, alpha=0.75)
        left.plot([source.mean], [index], "|", color=INK, markersize=13)
        sd, low, high = source.spread
        if math.isfinite(sd):
            right.plot([low, high], [index, index], color=colour, linewidth=2)
            right.plot([sd], [index], "o", color=colour, markersize=5)
    left.set_yticks(range(len(report.sources)), [s.name for s in report.sources])
    left.invert_yaxis()
    right.set_xlim(left=0)
    for axes in (left, right):
        axes.locator_params(axis="x", nbins=4)
        axes.tick_params(axis="y", length=0)
    return figure


def study_fragment(report: StudyReport) -> str:
    """Return the study as a piece of HTML."""
    head = ["varied", "runs", "mean", "SD", "95 % interval of the SD", "share of the variance"]
    captions = {
        "spread": "Each dot is a run; the stroke is the mean. Right: the standard deviation over"
        " the runs that varied this source alone, with its interval."
    }
    return wrap(
        f"<h1>What moves {_text(report.metric)}</h1>",
        '<p class="soft">One source of randomness varied at a time; "all" varies the master seed, "none" nothing.</p>',
        f"<pre>{_text(report.to_dict()['template'])}</pre>",
        section("Spread by source", table(head, report.rows())),
        section("Picture", pictures(report.figures(), captions)),
        section("Mind", items(report.to_dict()["notes"])),
    )


def study_page(report: StudyReport) -> str:
    """Return the study as one HTML page without any outside reference."""
    return document("reproseed study", study_fragment(report))


def plot_compare(report: CompareReport) -> Figure:
    """Draw the pairs, joined, and their differences with mean and interval."""
    figure = new_figure(3.0)
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    dress(left, y=f"{report.metric}, final")
    dress(right, y="second - first")
    for a, b in zip(report.first, report.second, strict=True):
        left.plot([0, 1], [a, b], "-", color=FAINT, linewidth=0.8, zorder=1)
    left.plot([0] * len(report.first), report.first, "o", color=_COLOURS[0], markersize=5)
    left.plot([1] * len(report.second), report.second, "o", color=_COLOURS[2], markersize=5)
    left.set_xticks([0, 1], ["first", "second"])
    left.set_xlim(-0.4, 1.4)
    gaps = report.differences
    count = len(gaps)
    xs = [0.3 * (i / max(count - 1, 1) - 0.5) for i in range(count)]
    right.plot(xs, gaps, "o", color=FAINT, markersize=4.5)
    mean, low, high = report.mean_difference
    right.errorbar([0.35], [mean], yerr=[[mean - low], [high - mean]], fmt="o", capsize=4,
                   color=INK, markersize=5, label="mean, 95 %")  # fmt: skip
    right.axhline(0, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    right.set_xlim(-0.4, 0.6)
    right.set_xticks([])
    right.grid(False, axis="x")
    left.tick_params(labelsize=FONT)
    legend(right, 1)
    return figure


def compare_fragment(report: CompareReport) -> str:
    """Return the comparison as a piece of HTML."""
    captions = {
        "pairs": "Runs of both versions, joined where they have the same seed; right, the"
        " differences of the pairs, their mean and its interval."
    }
    data = report.to_dict()
    return wrap(
        f"<h1>{_text(report.headline)}</h1>",
        f'<p class="soft">{_text(report.metric)}, {_text(report.better)} is better;'
        f" {len(report.first)} pairs of runs with the same seeds.</p>",
        f"<pre>first:  {_text(data['templates'][0])}\nsecond: {_text(data['templates'][1])}</pre>",
        section("What was found", table(["", "estimate", "95 % interval"], report.rows())),
        section("Picture", pictures(report.figures(), captions)),
        section("Mind", items(data["notes"])),
    )


def compare_page(report: CompareReport) -> str:
    """Return the comparison as one HTML page without any outside reference."""
    return document("reproseed compare", compare_fragment(report))


def _text(text: str) -> str:
    from html import escape

    return escape(text)
