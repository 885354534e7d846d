"""Figures without pyplot, and how they become SVG for a page and PNG for a file.

Axes and text have one ink, which the SVG leaves to the page (`currentColor`), so that pictures
are legible on light and dark ground. Text stays text: it can be searched and scales.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reproseed.verify.errors import MissingPackageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1a1b1e"
FAINT = "#8a8d93"
WIDTH = 5.2
"""Inches; drawn at about this size on a phone, and in two columns on a desk."""
FONT = 9

ARM_COLOURS = {
    "full": "#3b7fc4",
    "half": "#2a9d74",
    "resume": "#d97706",
    "unseeded": "#8b8d94",
    "other": "#a05cc4",
}
CLASS_COLOURS = {"equal": "#5aa9a0", "rounding": "#e0b73b", "grey": "#d0803a", "logic": "#b3263a"}
CLASS_WORDS = {
    "equal": "equal",
    "rounding": "rounding",
    "grey": "in between",
    "logic": "beyond rounding",
}


def new_figure(height: float) -> Figure:
    """Return an empty figure of the common width, `height` inches high.

    Raises:
        MissingPackageError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise MissingPackageError(
            "drawing needs the package matplotlib, which is not installed here; install it with"
            " `pip install 'reproseed[cli]'` or `pip install matplotlib`."
        ) from None
    return Figure(figsize=(WIDTH, height), layout="constrained", facecolor="white")


def dress(axes: Axes, *, title: str = "", x: str = "", y: str = "") -> None:
    """Give axes the common look: one ink, open at the top and right, faint grid."""
    axes.set_title(title, loc="left", fontsize=FONT, color=INK)
    axes.set_xlabel(x, fontsize=FONT, color=INK)
    axes.set_ylabel(y, fontsize=FONT, color=INK)
    axes.tick_params(which="both", labelsize=FONT - 1, colors=INK, labelcolor=INK)
    axes.set_facecolor("none")
    axes.grid(True, color=FAINT, alpha=0.25, linewidth=0.6)
    axes.set_axisbelow(True)
    for text in (axes.xaxis.get_offset_text(), axes.yaxis.get_offset_text()):
        text.set(color=INK, fontsize=FONT - 1)
    for side, spine in axes.spines.items():
        spine.set_visible(side in {"left", "bottom"})
        spine.set_color(INK)


def legend(axes: Axes, columns: int = 3) -> None:
    """Put a legend above the axes, where it hides nothing."""
    handles, labels = axes.get_legend_handles_labels()
    if not handles:
        return
    axes.legend(
        handles,
        labels,
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=columns,
        frameon=False,
        fontsize=FONT - 1,
        labelcolor=INK,
        borderaxespad=0.2,
        handlelength=1.6,
        columnspacing=1.2,
    )


def to_svg(figure: Figure, label: str) -> str:
    """Return a figure as an SVG element for an HTML page, without any outside reference."""
    import matplotlib as mpl

    buffer = io.StringIO()
    # The salt makes ids a function of the content, and unlike those of the page's other pictures.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": label}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\s(?:xmlns(?::\w+)?|version)="[^"]*"', "", text)
    text = text.replace("xlink:href", "href").replace(INK, "currentColor")
    text = re.sub(r'\s(?:width|height)="[\d.]+pt"', "", text, count=2)
    return text.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


def save_png(figures: Mapping[str, Figure], folder: Path) -> dict[str, str]:
    """Write figures as PNG files on white ground; return their names by figure."""
    names = {}
    for name, figure in figures.items():
        names[name] = f"{name}.png"
        figure.savefig(folder / names[name], dpi=160, facecolor="white")
    return names
