"""A report as text for a terminal or a log file, with rich."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reproseed.verify.page import HEADLINES, place, short, summary
from reproseed.verify.wording import ulp_text

if TYPE_CHECKING:
    from rich.console import Console

    from reproseed.verify.report import VerifyReport

_TONES = {"good": "bold green", "bad": "bold red", "open": "bold yellow"}


def print_report(report: VerifyReport, console: Console) -> None:
    """Print verdict, comparisons, reasons, and what to do next."""
    data = report.to_dict()
    console.print(_comparisons(data))
    headline, tone = HEADLINES[report.verdict.name]
    console.print(f"\n[{_TONES[tone]}]{headline}.[/] {summary(data)}", highlight=False)
    for reason in report.verdict.reasons:
        _sentence(console, reason)
    for warning in report.warnings:
        _sentence(console, f"Mind: {warning}")
    for run in (r for r in report.findings.records if not r.ok and r.output_tail):
        console.print(f"\n[bold]The end of what {run.name} printed[/]")
        console.print(run.output_tail, markup=False, highlight=False)
    if report.next:
        console.print("\n[bold]What to do[/]")
    for step in report.next:
        console.print(f"  {step.why}:", markup=False, highlight=False)
        # Not wrapped: a command that is broken by the terminal's width cannot be copied.
        console.print(f"    {step.command}", markup=False, highlight=False, soft_wrap=True)


def _sentence(console: Console, text: str) -> None:
    from rich.padding import Padding
    from rich.text import Text

    console.print(Padding(Text(f"- {text}"), (0, 0, 0, 2)))


def _comparisons(data: dict[str, Any]) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "run", "with", "equal until", "result", "first difference"):
        table.add_column(name, overflow="fold")
    controls = [c for control in data["controls"] for c in control["comparisons"]]
    for found in [*data["comparisons"], *controls]:
        control = found["name"] in {"unseeded", "other"}
        equal = found["first"] is None
        good = equal != control
        result = ("differs, as it must" if not equal else "equal: dead") if control else (
            "equal" if equal else found["class"])  # fmt: skip
        table.add_row(
            found["name"],
            found["pair"][1],
            found["pair"][0],
            f"{found['equal_until']}/{found['compared']}" + _state(found),
            f"[{'green' if good else 'red'}]{result}[/]",
            "" if equal or control else _first(found["first"]),
        )
    return table


def _state(found: dict[str, Any]) -> str:
    if not found["state_entries"]:
        return ""
    return f" + {found['state_entries'] - found['state_differing']}/{found['state_entries']} state"


def _first(first: dict[str, Any]) -> str:
    if first["a"] is None or first["b"] is None:
        return place(first)
    size = f", {ulp_text(first['ulp'])}" if isinstance(first["ulp"], float) else ""
    return f"{place(first)}: {short(first['a'])} -> {short(first['b'])}{size}"
