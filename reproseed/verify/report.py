"""`VerifyReport`: everything about one verification, as data, as JSON and as a page.

The JSON (`reproseed.verify/1`) names no absolute path and no user: reports get attached to
issues. Its shape is frozen in tests/golden/verify-1.json.
"""

from __future__ import annotations

import importlib.metadata
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reproseed.verify.advice import Step
from reproseed.verify.arms import Plan
from reproseed.verify.differences import EARLY, LOGIC_ULP, ROUNDING_ULP, Comparison, Difference
from reproseed.verify.findings import Control, Findings
from reproseed.verify.runs import RunRecord
from reproseed.verify.saved import Saved
from reproseed.verify.states import FinalState
from reproseed.verify.verdict import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = "reproseed.verify/1"
PACKAGES = ("reproseed", "torch", "numpy", "scipy")


@dataclass
class VerifyReport(Saved):
    """The outcome of `verify`.

    Attributes:
        plan: which runs were made.
        template: the command, as it was given.
        findings: runs, comparisons, controls, summaries.
        verdict: the decision and why.
        warnings: what weakens it.
        next: what to do, as ready commands.
        threads: threads of every run.
        out: where the runs, the page and the pictures lie.
        trace: place and cause as the tracer found them; None if it was not asked.
        pictures: the files of the pictures, relative to `out`, by name.
    """

    plan: Plan
    template: str
    findings: Findings
    verdict: Verdict
    warnings: list[str]
    next: list[Step]
    threads: int
    out: Path
    trace: Mapping[str, Any] | None = None
    pictures: dict[str, str] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether the asked level was reached."""
        return self.verdict.exit_code == 0

    @property
    def exit_code(self) -> int:
        """What the command line ends with."""
        return self.verdict.exit_code

    def figures(self) -> dict[str, Figure]:
        """Return the pictures as matplotlib figures, by name."""
        from reproseed.verify.plots import figures

        return figures(self)

    def content(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "format": FORMAT,
            "verdict": self.verdict.name,
            "exit_code": self.exit_code,
            "level": self.plan.level,
            "level_reached": self.verdict.level_reached,
            "reasons": list(self.verdict.reasons),
            "warnings": list(self.warnings),
            "next": [asdict(step) for step in self.next],
            "template": self.template,
            "plan": {
                "epochs": self.plan.epochs,
                "half": self.plan.half,
                "repeats": self.plan.repeats,
                "seed": self.plan.seed,
                "arms": list(self.plan.arms),
            },
            "environment": environment(self.threads),
            "thresholds": {"rounding_ulp": ROUNDING_ULP, "logic_ulp": LOGIC_ULP, "early": EARLY},
            "arms": [
                {"name": arm, "runs": [_run(r) for r in self.findings.records if r.job.arm == arm]}
                for arm in self.plan.arms
            ],
            "comparisons": [_comparison(c) for c in self.findings.comparisons],
            "controls": [_control(c) for c in self.findings.controls],
            "stats": [
                {"arm": s.arm, "metric": s.metric, "n": len(s.values), "mean": number(s.mean),
                 "sd": number(s.sd), "window": "final"}
                for s in self.findings.summaries
            ],
            "tests": [_test(t) for t in self.verdict.tests],
            "rounded_metrics": list(self.findings.rounded),
            "trace": self.trace,
        }  # fmt: skip

    def to_html(self) -> str:
        """Return one self-contained HTML page, with its pictures inside."""
        from reproseed.verify.page import page

        return page(self)

    def fragment(self) -> str:
        """Return what stands on the page, without the page."""
        from reproseed.verify.page import fragment

        return fragment(self)

    def __repr__(self) -> str:
        reached = self.verdict.level_reached or "none"
        return f"<VerifyReport {self.verdict.name}: asked {self.plan.level}, reached {reached}>"


def environment(threads: int) -> dict[str, Any]:
    """Return versions and machine facts that bits depend on."""
    versions: dict[str, str | None] = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = None
    return {
        "versions": versions,
        "platform": platform.system(),
        "machine": platform.machine(),
        "threads": threads,
    }


def number(value: float | None) -> float | str | None:
    """Return a float as JSON can hold it: NaN and infinities as text."""
    if value is None or math.isfinite(value):
        return value
    return repr(value)


def _run(record: RunRecord) -> dict[str, Any]:
    return {
        "name": record.name,
        "argv": record.argv,
        "env": record.env,
        "seed": record.job.seed,
        "rc": record.rc,
        "status": record.status,
        "problem": record.problem,
        "seconds": round(record.seconds, 3),
        "metrics": str(record.directory / "metrics"),
        "values": len(record.points),
        "final_state": _state(record.state),
        "output_tail": "" if record.ok else record.output_tail,
    }


def _state(state: FinalState) -> dict[str, Any]:
    from reproseed.verify.fingerprints import fingerprint

    hashes = sorted(f"{path} {entry['hash']}" for path, entry in state.entries.items())
    return {
        "source": state.source,
        "entries": len(hashes),
        "hash": fingerprint("\n".join(hashes))["hash"] if hashes else None,
        "environment": state.environment,
        "problem": state.problem,
    }


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        "name": comparison.name,
        "pair": [comparison.a, comparison.b],
        "compared": comparison.compared,
        "equal_until": comparison.equal_until,
        "state_entries": comparison.state[0],
        "state_differing": comparison.state[1],
        "state_class": comparison.state_size,
        "class": comparison.size,
        "first": None if comparison.first is None else difference(comparison.first),
        "early_ulp": number(comparison.early_ulp),
        "note": comparison.note,
    }


def difference(found: Difference) -> dict[str, Any]:
    """Return a difference as plain data."""
    return {
        "metric": found.metric,
        "step": found.step,
        "epoch": found.epoch,
        "a": number(found.a),
        "b": number(found.b),
        "abs": number(found.abs),
        "rel": number(found.rel),
        "ulp": number(found.ulp),
    }


def _control(control: Control) -> dict[str, Any]:
    pairs: Sequence[Comparison] = control.comparisons
    return {
        "name": control.name,
        "alive": control.alive,
        "comparisons": [_comparison(c) for c in pairs],
    }


def _test(test: Any) -> dict[str, Any]:
    content = asdict(test)
    content["statistic"], content["p"] = number(test.statistic), number(test.p)
    content["interval"] = [number(v) for v in test.interval] if test.interval else None
    content["n"] = list(test.n)
    return content
