"""The page of a verification: verdict first, then why, what to do, pictures, and all the tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from reproseed.verify.html import (
    commands,
    details,
    document,
    items,
    pictures,
    section,
    table,
    wrap,
)
from reproseed.verify.plots import CAPTIONS

if TYPE_CHECKING:
    from reproseed.verify.report import VerifyReport

HEADLINES = {
    "PASS": ("Passed", "good"),
    "FAIL": ("Not reproducible", "bad"),
    "INCONCLUSIVE": ("Undecided", "open"),
    "DEAD_CONTROL": ("Dead control: nothing proven", "open"),
    "SEED_IGNORED": ("The seed is ignored: nothing proven", "open"),
    "RUN_FAILED": ("A run failed", "bad"),
}
_EQUALITY = {
    "bitwise": "bit for bit",
    "rounding": "up to rounding",
    "statistical": "in distribution",
}


def page(report: VerifyReport) -> str:
    """Return the report as one HTML page without any outside reference."""
    headline, _ = HEADLINES[report.verdict.name]
    return document(f"reproseed verify: {headline}", fragment(report))


def fragment(report: VerifyReport) -> str:
    """Return the report as a piece of HTML, for a page or a notebook."""
    data = report.to_dict()
    return wrap(
        _head(data),
        section("Why", items(data["reasons"])),
        section("What failed runs printed at their end", _outputs(data)),
        section("Place and cause", _trace(data["trace"])),
        section("What to do", commands(data["next"])),
        section("Mind", items(data["warnings"])),
        section("Pictures", pictures(report.figures(), CAPTIONS)),
        section("Comparisons", _comparisons(data)),
        section("Final values by arm", _stats(data)),
        section("Tests", _tests(data)),
        section("Runs", _runs(data)),
        details("Environment and plan", _environment(data)),
    )


def summary(data: Mapping[str, Any]) -> str:
    """Return what was asked and what was reached, in one sentence."""
    reached = data["level_reached"]
    text = f"Asked: equal {_EQUALITY[data['level']]}."
    return f"{text} Reached: equal {_EQUALITY[reached]}." if reached else f"{text} Reached: none."


def _head(data: Mapping[str, Any]) -> str:
    headline, tone = HEADLINES[data["verdict"]]
    return (
        f'<h1 class="{tone}">{escape(headline)}</h1>\n'
        f'<p class="soft">{escape(summary(data))} Exit code {data["exit_code"]}.</p>\n'
        f"<pre>{escape(data['template'])}</pre>"
    )


def _trace(trace: Mapping[str, Any] | None) -> str:
    if not trace:
        return ""
    # Hashes and records are for the JSON; a flag or an empty list tells a reader nothing.
    told = {name: value for name, value in trace.items() if value and not isinstance(value, bool)}
    rows = [(name, _words(value)) for name, value in told.items() if name not in ("divergence", "summary", "address")]
    return table(["what", "found"], rows, long=["found"])


def _words(value: object) -> str:
    """Return plain data as words: a place reads "epoch 2, step 0"."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_words(part)}" for name, part in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_words, value))
    return str(value)


def _comparisons(data: Mapping[str, Any]) -> str:
    controls = [c for control in data["controls"] for c in control["comparisons"]]
    head = ["kind", "run", "with", "equal until", "result", "first difference", "ULP"]
    rows = []
    for found in [*data["comparisons"], *controls]:
        first = found["first"]
        kind = found["name"]
        must_differ = kind in {"unseeded", "other"}
        rows.append(
            (
                f"control: {kind}" if must_differ else kind,
                found["pair"][1],
                found["pair"][0],
                f"{found['equal_until']} of {found['compared']}",
                ("differs, as it must" if first else "EQUAL: dead") if must_differ
                else found["class"],
                place(first),
                short(first["ulp"]) if first and first["a"] is not None else "",
            )
        )  # fmt: skip
    return table(head, rows)


def place(first: Mapping[str, Any] | None) -> str:
    """Return where a first difference is, short."""
    if first is None:
        return ""
    parts = [f"{name} {first[name]}" for name in ("epoch", "step") if first[name] is not None]
    metric = str(first["metric"]).replace("final_state:", "final state ")
    return ", ".join([*parts, metric])


def short(value: object) -> str:
    """Return a number in four digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _stats(data: Mapping[str, Any]) -> str:
    rows = [
        (s["metric"], s["arm"], s["n"], short(s["mean"]), short(s["sd"]) if s["n"] > 1 else "") for s in data["stats"]
    ]
    return table(["metric", "arm", "runs", "mean", "SD"], sorted(rows, key=lambda r: str(r[0])))


def _tests(data: Mapping[str, Any]) -> str:
    rows = []
    for test in data["tests"]:
        interval = test["interval"]
        rows.append(
            (
                test["name"],
                test["metric"],
                " and ".join(map(str, test["n"])),
                short(test["statistic"]) if test["applicable"] else "",
                short(test["p"]) if test["p"] is not None else "",
                short(test["p_adjusted"]) if test["p_adjusted"] is not None else "",
                f"{short(interval[0])} to {short(interval[1])}" if interval and test["applicable"] else "",
                test["reason"],
            )
        )
    head = ["test", "metric", "runs", "statistic", "p", "p (Holm)", "interval", "not made because"]
    return table(head, rows)


def _runs(data: Mapping[str, Any]) -> str:
    rows = [
        (run["name"], run["status"], run["rc"] if run["rc"] is not None else "",
         f"{run['seconds']:.1f} s", run["seed"] if run["seed"] is not None else "none",
         run["values"], run["final_state"]["entries"], (run["final_state"]["hash"] or "")[:12])
        for arm in data["arms"] for run in arm["runs"]
    ]  # fmt: skip
    head = ["run", "ended", "exit code", "time", "seed", "values", "state entries", "state hash"]
    return table(head, rows)


def _outputs(data: Mapping[str, Any]) -> str:
    failed = [run for arm in data["arms"] for run in arm["runs"] if run["status"] != "ok"]
    return "".join(
        f"<p><b>{escape(run['name'])}</b>: {escape(run['problem'])}</p>"
        + (f"<pre>{escape(run['output_tail'])}</pre>" if run["output_tail"] else "")
        for run in failed
    )


def _environment(data: Mapping[str, Any]) -> str:
    chosen = {key: data[key] for key in ("format", "environment", "plan", "thresholds")}
    return f"<pre>{escape(json.dumps(chosen, indent=1))}</pre>"
