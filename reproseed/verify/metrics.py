"""Metrics of one run: points, series, and what a run is summed up by."""

from __future__ import annotations

import fnmatch
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

FINAL_PART = 0.05
"""The part of a run, at its end, that its final value is the mean of."""

Key = tuple[str, "int | None", "int | None", int]


@dataclass(frozen=True)
class Point:
    """One reported value: its name, its place in the run, and the dtype if the script told it."""

    name: str
    value: float
    step: int | None = None
    epoch: int | None = None
    dtype: str | None = None


def keyed(points: Sequence[Point]) -> dict[Key, Point]:
    """Return the points by (name, epoch, step, how many of this came before)."""
    seen: Counter[tuple[str, int | None, int | None]] = Counter()
    result: dict[Key, Point] = {}
    for point in points:
        place = (point.name, point.epoch, point.step)
        result[(point.name, point.epoch, point.step, seen[place])] = point
        seen[place] += 1
    return result


def by_name(points: Iterable[Point]) -> dict[str, list[Point]]:
    """Return the points of each metric, in order."""
    series: dict[str, list[Point]] = {}
    for point in points:
        series.setdefault(point.name, []).append(point)
    return series


def select(points: Iterable[Point], wanted: Sequence[str], ignored: Sequence[str]) -> list[Point]:
    """Keep points whose name matches a pattern of `wanted` (none: all) and none of `ignored`."""

    def matches(name: str, patterns: Sequence[str]) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)

    return [p for p in points if (not wanted or matches(p.name, wanted)) and not matches(p.name, ignored)]


def summaries(points: Sequence[Point], of: int = 0) -> dict[str, float]:
    """Return what one run's metric is summed up by.

    Args:
        points: the metric's values, in order; at least one.
        of: how many values a full run has, where these are only its rest.

    Returns:
        `final`: the mean of the last 5 % of the values of a full run; `area`: the mean of all
        values (the area under the curve over its length).
    """
    values = [p.value for p in points]
    last = values[-max(1, math.ceil(FINAL_PART * max(of, len(values)))) :]
    return {"final": sum(last) / len(last), "area": sum(values) / len(values)}


def quantum(points: Sequence[Point]) -> float | None:
    """Return the step of a metric that was rounded when it was logged; None if it was not.

    A float that was printed in full has 8 significant digits or more nearly always; one that was
    formatted with `:.4f` never has. Values of 16-bit dtypes have few digits by nature.

    >>> quantum([Point("loss", value) for value in (0.8779, 0.4312, 0.2201)])
    0.0001
    """
    if any(p.dtype in {"bfloat16", "float16"} or "int" in (p.dtype or "") for p in points):
        return None
    values = {p.value for p in points if math.isfinite(p.value) and p.value != int(p.value)}
    if not values:
        return None
    written = [_decimals(value) for value in values]
    if all((v * 2.0**places).is_integer() for v, (_, places) in zip(values, written, strict=True)):
        return None  # binary fractions such as 0.8125 are few digits, and exact
    if max(digits for digits, _ in written) > 7 and max(places for _, places in written) > 6:
        return None
    return 10.0 ** -max(places for _, places in written)


def _decimals(value: float) -> tuple[int, int]:
    """Return the significant digits and the decimal places of the shortest decimal."""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    return len((whole + fraction).lstrip("0")), len(fraction) - int(exponent or 0)
