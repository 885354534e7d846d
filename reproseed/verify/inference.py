"""The statistical tests over the runs of a plan, corrected over its metrics by Holm's method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from reproseed.verify.findings import Findings, tails
from reproseed.verify.metrics import Point, by_name, summaries

if TYPE_CHECKING:
    from reproseed.verify.statistics import Test

Series = dict[str, list[Point]]


def tests_of(findings: Findings) -> tuple[Test, ...]:
    """Make the tests for every metric and both summaries of a run.

    Seeded against unseeded runs (or, without those, runs of other seeds): is the spread smaller?
    Full against resumed runs, over the epochs that both have: do the means differ, are they
    equivalent? Nothing is tested where there is nothing to compare with.
    """
    spread = [by_name(r.points) for r in findings.arm("unseeded") or findings.arm("other")]
    full = [by_name(r.points) for r in findings.arm("full")]
    if not spread or not full:
        return ()
    # SciPy takes a second to load, and most verifications need no test.
    from reproseed.verify.statistics import Test, brown_forsythe, equivalence, permutation, sd_ratio

    expected, resumed = tails(findings)
    rest = [{m: s[m][-len(expected[m]) :] for m in expected if m in s} for s in full]
    less: list[Test] = []
    shown: list[Test] = []
    differ: list[Test] = []
    same: list[Test] = []
    for metric, points in full[0].items():
        for kind in ("final", "area"):
            label, length = f"{metric}, {kind}", len(points)
            free = _values(spread, metric, kind, length)
            test = brown_forsythe(_values(full, metric, kind, length), free)
            less.append(replace(test, metric=label))
            ratio, low, high = sd_ratio(_values(full, metric, kind, length), free)
            reason = "" if test.applicable else test.reason
            shown.append(
                Test("SD ratio, seeded / unseeded", test.n, ratio, None, (low, high), test.applicable, reason, label)
            )
            if expected.get(metric):
                a = _values(rest, metric, kind, length)
                b = _values(resumed, metric, kind, length)
                differ.append(replace(permutation(a, b), metric=label))
                same.append(replace(equivalence(a, b, free), metric=label))
    return tuple(test for group in (less, shown, differ, same) for test in _corrected(group))


def _values(series: Sequence[Series], metric: str, kind: str, length: int) -> list[float]:
    return [summaries(s[metric], length)[kind] for s in series if s.get(metric)]


def _corrected(tests: Sequence[Test]) -> list[Test]:
    from reproseed.verify.statistics import holm

    made = [test for test in tests if test.applicable and test.p is not None]
    adjusted = iter(holm([test.p for test in made if test.p is not None]))
    return [replace(t, p_adjusted=next(adjusted)) if t in made else t for t in tests]
