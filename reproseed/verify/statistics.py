"""Tests for runs that are equal only up to rounding. The unit is always a run, never a step.

Steps and epochs of one run are not replicates: with a lag-1 correlation of 0.9, an interval that
takes them for such covers the truth 29 % of the time instead of 95 %. Below four runs a side no
test is made: with three, the variance test cannot reject whatever it sees.

Sources: Brown and Forsythe 1974 (spread about the median); Holm 1979; Schuirmann 1987 (two
one-sided tests); Bouthillier et al. 2021 (probability of improvement).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]  # SciPy carries no types

from reproseed.verify.arms import FEWEST_FOR_STATISTICS

ALPHA = 0.05
MARGIN = 0.5
"""Half width of the equivalence region, in SDs of the unseeded runs."""
RESAMPLES = 9999

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Test:
    """The outcome of one test.

    Attributes:
        name: the test.
        n: the runs on each side.
        statistic, p: as usual; None where the test was not applicable.
        interval: a confidence interval, where the test has one.
        applicable: whether the test could be made.
        reason: why not, or what it means.
        metric: which metric, and which summary of it.
        p_adjusted: after Holm's correction over the metrics.
    """

    __test__ = False  # not a case for pytest

    name: str
    n: tuple[int, int]
    statistic: float | None = None
    p: float | None = None
    interval: tuple[float, float] | None = None
    applicable: bool = True
    reason: str = ""
    metric: str = ""
    p_adjusted: float | None = None


def brown_forsythe(seeded: Sequence[float], unseeded: Sequence[float]) -> Test:
    """Test whether seeded runs spread less than unseeded ones (one-sided)."""
    name = "Brown-Forsythe, seeded spreads less"
    x, y = _arrays(seeded, unseeded)
    refused = _refuse(name, x, y)
    if refused is not None:
        return refused
    near, far = np.abs(x - np.median(x)), np.abs(y - np.median(y))
    if _constant(near) and _constant(far):
        reason = "neither side's distances from its median vary"
        return Test(name, (x.size, y.size), applicable=False, reason=reason)
    result = stats.ttest_ind(far, near, alternative="greater")
    return Test(name, (x.size, y.size), float(result.statistic), float(result.pvalue))


def permutation(a: Sequence[float], b: Sequence[float]) -> Test:
    """Test whether the means of two groups of runs differ, by permuting the runs."""
    name = "permutation, means differ"
    x, y = _arrays(a, b)
    refused = _refuse(name, x, y)
    if refused is not None:
        return refused

    def difference(u: Values, v: Values, axis: int = -1) -> Values:
        return np.asarray(np.mean(u, axis=axis) - np.mean(v, axis=axis))

    result = stats.permutation_test(
        (y, x),
        difference,
        n_resamples=13_000,  # exact up to 8 runs a side
        vectorized=True,
        **_generator(stats.permutation_test),
    )
    return Test(name, (x.size, y.size), float(result.statistic), float(result.pvalue))


def equivalence(
    full: Sequence[float], resumed: Sequence[float], spread: Sequence[float], margin: float = MARGIN
) -> Test:
    """Test whether mean(resumed) - mean(full) lies within `margin` SDs of the unseeded runs.

    Two one-sided Welch tests at 5 % each, shown as the 90 % interval in units of that SD. The SD
    is taken as known, though it is estimated from a few runs.
    """
    name = f"equivalence within ±{margin:g} SD"
    x, y = _arrays(full, resumed)
    refused = _refuse(name, x, y)
    if refused is not None:
        return refused
    scale = float(np.std(np.asarray(spread, dtype=np.float64), ddof=1)) if len(spread) > 1 else 0.0
    if not scale > 0:
        reason = "the unseeded runs do not spread, so that there is no scale"
        return Test(name, (x.size, y.size), applicable=False, reason=reason)
    difference = float(y.mean() - x.mean())
    a, b = float(x.var(ddof=1)) / x.size, float(y.var(ddof=1)) / y.size
    error = math.sqrt(a + b)
    if error == 0:
        low = high = difference / scale
        p = 0.0 if abs(low) < margin else 1.0
    else:
        freedom = (a + b) ** 2 / (a * a / (x.size - 1) + b * b / (y.size - 1))
        half = float(stats.t.ppf(1 - ALPHA, freedom)) * error
        low, high = (difference - half) / scale, (difference + half) / scale
        nearest = (margin * scale - abs(difference)) / error
        p = float(stats.t.sf(nearest, freedom))
    return Test(name, (x.size, y.size), difference / scale, p, (low, high))


def sd_ratio(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float]:
    """Return SD(a) / SD(b) with a 95 % bootstrap interval; NaN where SD(b) is zero. For display."""
    x, y = _arrays(a, b)

    def log_ratio(u: Values, v: Values, axis: int = -1) -> Values:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(np.std(u, axis=axis, ddof=1) / np.std(v, axis=axis, ddof=1)))

    if min(x.size, y.size) < FEWEST_FOR_STATISTICS or _constant(y):
        return math.nan, math.nan, math.nan
    if _constant(x):
        return 0.0, 0.0, 0.0
    rng = np.random.default_rng(0)
    draws = log_ratio(rng.choice(x, (RESAMPLES, x.size)), rng.choice(y, (RESAMPLES, y.size)))
    draws = draws[np.isfinite(draws)]
    low, high = np.exp(np.percentile(draws, [2.5, 97.5]))
    return float(np.exp(log_ratio(x, y))), float(low), float(high)


def sd_interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float, float]:
    """Return the SD of runs and its interval by the chi-squared law (runs taken as normal)."""
    x = np.asarray(values, dtype=np.float64)
    if x.size < 2:
        return math.nan, math.nan, math.nan
    # The mean of equal values may be rounded, and their SD then not be zero.
    sd = 0.0 if _constant(x) else float(x.std(ddof=1))
    freedom = x.size - 1
    outer = (1 - level) / 2
    low = sd * math.sqrt(freedom / float(stats.chi2.ppf(1 - outer, freedom)))
    high = sd * math.sqrt(freedom / float(stats.chi2.ppf(outer, freedom)))
    return sd, low, high


def mean_interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float, float]:
    """Return the mean of runs, or of paired differences, and its Student interval."""
    x = np.asarray(values, dtype=np.float64)
    half = float(stats.t.ppf((1 + level) / 2, x.size - 1)) * float(stats.sem(x))
    return float(x.mean()), float(x.mean()) - half, float(x.mean()) + half


def probability_of_improvement(
    a: Sequence[float], b: Sequence[float], *, better: str = "lower", level: float = 0.95
) -> tuple[float, float, float]:
    """Return how probable it is that a run of `b` beats the paired run of `a`, with its interval.

    Ties count half. The interval is a percentile bootstrap over pairs, as in Bouthillier et al.
    2021; where all pairs agree it would have no width, so Wilson's interval is joined to it.
    """
    x, y = _arrays(a, b)
    gain = x - y if better == "lower" else y - x
    wins = (gain > 0) + 0.5 * (gain == 0)
    rng = np.random.default_rng(0)
    draws = rng.choice(wins, (RESAMPLES, wins.size)).mean(axis=1)
    outer = 50 * (1 - level)
    low, high = np.percentile(draws, [outer, 100 - outer])
    wilson = stats.binomtest(round(float(wins.sum())), wins.size).proportion_ci(level, "wilson")
    return (
        float(wins.mean()),
        float(min(low, wilson.low)),
        float(max(high, wilson.high)),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm's step-down method.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def _arrays(a: Sequence[float], b: Sequence[float]) -> tuple[Values, Values]:
    return np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)


def _constant(values: Values) -> bool:
    return bool(np.ptp(values) == 0)


def _refuse(name: str, x: Values, y: Values) -> Test | None:
    n = (x.size, y.size)
    if min(n) < FEWEST_FOR_STATISTICS:
        reason = f"{min(n)} runs; at least {FEWEST_FOR_STATISTICS} are needed a side"
        return Test(name, n, applicable=False, reason=reason)
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        return Test(name, n, applicable=False, reason="a run's value is not finite")
    return None


def _generator(function: Callable[..., object]) -> dict[str, np.random.Generator]:
    """Name SciPy's argument for the generator, which changed in 1.15."""
    import inspect

    known = inspect.signature(function).parameters
    return {"rng" if "rng" in known else "random_state": np.random.default_rng(0)}
