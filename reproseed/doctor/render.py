"""Findings as a table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

from reproseed.doctor.findings import LEVELS, Finding
from reproseed.errors import ReproseedError

_STYLE = {"problem": "bold red", "note": "yellow", "ok": "green"}


def render(findings: Sequence[Finding], *, everything: bool = False, file: TextIO | None = None) -> None:
    """Print a table of what there is to do, and one line of what is well.

    Args:
        findings: from `examine`.
        everything: list what is well in the table too.
        file: where to; standard output by default.

    Raises:
        ReproseedError: rich is not installed.
    """
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        raise ReproseedError("the table needs rich: pip install 'reproseed[cli]', or ask for --json.") from None
    console = Console(file=file or sys.stdout, highlight=False, soft_wrap=False)
    for finding in findings:
        if finding.topic == "versions" and finding.level == "ok":
            console.print(finding.found, markup=False)
    shown = [f for level in LEVELS for f in findings if f.level == level and (everything or level != "ok")]
    if shown:
        table = Table(show_lines=True)
        for title in ("", "what", "found", "what to do"):
            table.add_column(title, overflow="fold")
        for finding in shown:
            where = f"{finding.topic}\n{finding.where}" if finding.where else finding.topic
            mark = f"[{_STYLE[finding.level]}]{finding.level}[/]"
            table.add_row(mark, *(text.replace("[", "\\[") for text in (where, finding.found, finding.do)))
        console.print(table)
    problems = sum(f.level == "problem" for f in findings)
    notes = sum(f.level == "note" for f in findings)
    console.print(f"{_count(problems, 'problem')}, {_count(notes, 'note')}.")


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"
