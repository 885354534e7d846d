"""Which values of two runs belong together, where one covers only a part of the other.

Points are matched by metric, epoch and step. A script whose steps begin at zero again after a
resume has no such keys in common with the full run: there the order decides, and a note says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reproseed.verify.metrics import Point, by_name, keyed

Pair = tuple[list[Point], list[Point], str]


def prefix(full: Sequence[Point], half: Sequence[Point]) -> Pair:
    """Return the part of the full run that the half run must repeat, that run, and a note.

    A metric that is logged once, at the end of each run, is no part of the prefix.
    """
    series_full, series_half = by_name(full), by_name(half)
    at_full = keyed(full)
    once = {
        name
        for name, points in series_half.items()
        if len(points) == 1
        and len(series_full.get(name, [])) == 1
        and (_placeless(points) or not set(keyed(points)) & set(at_full))
    }
    kept = [p for p in half if p.name not in once]
    expected: list[Point] = []
    for name, points in series_half.items():
        if name not in once:
            mine = series_full.get(name, [])
            wanted = set(keyed(points))
            last = max((i for i, key in enumerate(keyed(mine)) if key in wanted), default=-1)
            expected += mine[: last + 1]
    note = f"logged once, at the end, so not compared: {', '.join(sorted(once))}" if once else ""
    return _in_order(full, expected), kept, note


def tail(full: Sequence[Point], half: Sequence[Point], resumed: Sequence[Point]) -> Pair:
    """Return the part of the full run that the resumed run must repeat, that run, and a note."""
    series_half, series_resumed = by_name(half), by_name(resumed)
    expected: list[Point] = []
    moved: list[Point] = []
    by_order = []
    for name, mine in by_name(full).items():
        theirs = series_resumed.get(name, [])
        rest = _rest(mine, series_half.get(name, []))
        if _restarts(rest, theirs):
            if not _placeless(rest):
                by_order.append(name)
            expected += rest
            moved += [
                replace(point, step=place.step, epoch=place.epoch) for point, place in zip(theirs, rest, strict=True)
            ]
            continue
        keys = set(keyed(theirs))
        rest_keys = {id(point) for point in rest}
        expected += [p for key, p in keyed(mine).items() if id(p) in rest_keys or key in keys]
        moved += theirs
    known = {point.name for point in full}
    moved += [point for point in resumed if point.name not in known]
    note = f"steps begin anew after the resume, compared in order: {', '.join(sorted(by_order))}"
    return _in_order(full, expected), moved, note if by_order else ""


def _rest(mine: Sequence[Point], before: Sequence[Point]) -> list[Point]:
    """Return the points of the full run that the half run has not reached."""
    if _placeless(mine):
        return list(mine) if len(mine) == len(before) else list(mine[len(before) :])
    done = set(keyed(before))
    return [point for key, point in keyed(mine).items() if key not in done]


def _restarts(rest: Sequence[Point], theirs: Sequence[Point]) -> bool:
    if not rest or len(rest) != len(theirs):
        return False
    places = {(p.epoch, p.step) for p in rest}
    return _placeless(rest) or not places & {(p.epoch, p.step) for p in theirs}


def _placeless(points: Sequence[Point]) -> bool:
    return all(p.step is None and p.epoch is None for p in points)


def _in_order(full: Sequence[Point], chosen: Sequence[Point]) -> list[Point]:
    ids = {id(point) for point in chosen}
    return [point for point in full if id(point) in ids]
