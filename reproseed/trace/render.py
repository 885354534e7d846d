"""Show a divergence: as text, as an HTML fragment for notebooks and pages, as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from reproseed.trace.comparison import Comparison
from reproseed.trace.divergence import Cause, Divergence

_STYLE = "border-collapse:collapse;text-align:left;max-width:60em"
_CELL = "padding:.25em .8em .25em 0;vertical-align:top;overflow-wrap:anywhere"


def text(divergence: Divergence) -> str:
    """Return plain text, one thing a line."""
    lines = [f"A and B part at: {divergence.place}", f"first difference: {divergence.what}"]
    for number, cause in enumerate(divergence.causes):
        lines += ["", f"{'cause' if number == 0 else 'also'}: {cause.name} ({cause.confidence})"]
        lines += [f"  - {sentence}" for sentence in cause.evidence]
        lines += [f"  remedy: {cause.remedy}"] if cause.remedy else []
    lines += ["", f"equal before it ({divergence.compared - 1} places): {', '.join(divergence.equal) or 'nothing'}"]
    lines += [f"note: {note}" for note in divergence.notes]
    return "\n".join(lines)


def html(divergence: Divergence) -> str:
    """Return a fragment without styles of its own for colours, so that it reads in light and dark."""
    rows = [
        ("place", escape(divergence.place)),
        ("first difference", escape(divergence.what)),
        *((("cause" if number == 0 else "also"), _cause(cause)) for number, cause in enumerate(divergence.causes)),
        ("equal before it", escape(", ".join(divergence.equal) or "nothing")),
        *(("note", escape(note)) for note in divergence.notes),
    ]
    body = "".join(f'<tr><th scope="row" style="{_CELL}">{n}</th><td style="{_CELL}">{v}</td></tr>' for n, v in rows)
    return f'<table style="{_STYLE}"><tbody>{body}</tbody></table>'


def _cause(cause: Cause) -> str:
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in cause.evidence)
    return f"<b>{cause.name}</b> ({cause.confidence})<ul style='margin:.2em 0'>{items}</ul>{escape(cause.remedy)}"


def as_json(comparisons: Sequence[tuple[str, str, Comparison]]) -> str:
    """Return the comparisons as JSON text."""
    return json.dumps(
        {
            "format": "reproseed.diff/1",
            "comparisons": [
                {
                    "a": a,
                    "b": b,
                    "same": found.divergence is None,
                    "compared": found.compared,
                    "notes": list(found.notes),
                    "divergence": None if found.divergence is None else found.divergence.to_dict(),
                }
                for a, b, found in comparisons
            ],
        },
        indent=2,
    )


def print_comparison(a: str, b: str, found: Comparison, show_all: bool = False) -> None:
    """Print a comparison to the terminal.

    Args:
        a: name of the first trace.
        b: name of the second.
        found: what was found.
        show_all: also print the records themselves, and every note.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    divergence = found.divergence
    if divergence is None:
        console.print(Text.assemble(("same", "bold green"), f": {found.compared} places of {a} and {b} are equal"))
        notes = found.notes if show_all else found.notes[:5]
        for note in notes:
            console.print(Text(f"note: {note}"))
        return
    console.print(Text.assemble(("differ", "bold red"), f": A is {a}, B is {b}"))
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _rows(divergence, show_all):
        table.add_row(name, value)
    console.print(table)


def _rows(divergence: Divergence, show_all: bool) -> list[tuple[str, Any]]:
    from rich.text import Text

    rows: list[tuple[str, Any]] = [
        ("place", Text(divergence.place)),
        ("first difference", Text(divergence.what)),
    ]
    for number, cause in enumerate(divergence.causes):
        body = Text.assemble((cause.name, "bold"), f" ({cause.confidence})")
        for sentence in cause.evidence:
            body.append(f"\n- {sentence}")
        rows.append(("cause" if number == 0 else "also", body))
        rows.append(("remedy", Text(cause.remedy)))
    rows.append((f"equal ({divergence.compared - 1} places)", Text(", ".join(divergence.equal) or "nothing")))
    rows += [("note", Text(note)) for note in divergence.notes]
    if show_all:
        rows += [("A", Text(json.dumps(divergence.a))), ("B", Text(json.dumps(divergence.b)))]
    return rows
