"""Which places of two runs are the same, and which records of a place belong together.

Places are matched by address, so that a resumed run stands beside the part of the full run that it repeats. What comes
before the first epoch or step of a run that begins later is its set-up, and is not compared with the other's. A record
that one side alone has is kept for what it tells; it is no difference by itself.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from reproseed.trace.format import Place, Record, Trace

Alignment = Literal["auto", "address", "tail", "resumed"]
_LOADERS = frozenset({"loader", "sampler", "dataset", "generator", "indices", "batch"})


@dataclass(frozen=True)
class Pair:
    """Two records of one thing, or one where the other side has none."""

    kind: str
    name: str
    a: Record | None
    b: Record | None

    @property
    def both(self) -> bool:
        """Whether both sides have it."""
        return self.a is not None and self.b is not None

    @property
    def differ(self) -> bool:
        """Whether both sides have it and say different things."""
        if self.a is None or self.b is None:
            return False
        if self.kind == "rng":
            return bool(moved(self.a, self.b))
        return plain(self.a) != plain(self.b)

    def field(self, name: str) -> tuple[Any, Any]:
        """Return one field of both sides."""
        return (self.a or {}).get(name), (self.b or {}).get(name)

    def changed_keys(self, name: str = "d") -> list[str]:
        """Return the keys of a field of digests whose values differ, in order; a key of one side alone counts."""
        a, b = self.field(name)
        if not isinstance(a, dict) or not isinstance(b, dict):
            return []
        return [key for key in dict.fromkeys([*a, *b]) if a.get(key) != b.get(key)]


@dataclass(frozen=True)
class Match:
    """One place of both runs, and its records in pairs, in the order of the first run."""

    a: Place
    b: Place
    pairs: tuple[Pair, ...]


def plain(record: Record) -> Record:
    """Return what counts in a comparison: all but the name, by which it was matched."""
    return {key: value for key, value in record.items() if key != "n"}


def moved(a: Record, b: Record) -> list[str]:
    """Return the generators that both sides know and that stand in different states."""
    ours, theirs = a["g"], b["g"]
    return [name for name in ours if name in theirs and _state(ours[name]) != _state(theirs[name])]


def _state(entry: Any) -> str:
    return str(entry[0] if isinstance(entry, list) else entry)


def matches(a: Trace, b: Trace, alignment: Alignment = "auto") -> list[Match]:
    """Return the places that both runs have, in the order of the first."""
    ours, theirs = _comparable(a.places, b.places)
    shift = 0
    tail = _last_tick(ours) - _last_tick(theirs)
    if alignment == "tail":
        shift = tail
    elif alignment != "address" and not any(place.addressed for place in (*ours, *theirs)):
        by_parameters = _shift_by_parameters(ours, theirs)
        # A resumed run may begin with other parameters: then its end stands where the whole run's does.
        shift = by_parameters or (tail if alignment == "resumed" else 0)
    by_key = {_shifted(place, shift): place for place in theirs}
    found: list[Match] = []
    for place in ours:
        other = by_key.get(place.key)
        if other is not None:
            begins = bool(shift) and not found and not place.addressed
            found.append(Match(place, other, tuple(_pairs(place.records, other.records, begins))))
    return found


def without_unseeded(found: Sequence[Match]) -> tuple[list[Match], list[str]]:
    """Leave out generators that stand elsewhere from the first record on: nobody seeded them alike.

    A script that draws from torch alone leaves Python's and NumPy's generators to the operating system. One that is
    seeded later counts from then on. Where a scope of reproseed seeded it, a difference is one.

    Returns:
        The matches, and the names of the generators that never came together.
    """
    apart: set[str] = set()
    seen: set[str] = set()
    kept: list[Match] = []
    for match in found:
        pairs: list[Pair] = []
        for pair in match.pairs:
            if pair.kind == "rng" and pair.a is not None and pair.b is not None:
                differ = set(moved(pair.a, pair.b))
                new = set(pair.a["g"]) - seen
                seen |= new
                apart = (apart | (new if pair.name not in ("scope", "step") else set())) & differ
                pair = Pair(pair.kind, pair.name, _only(pair.a, apart), _only(pair.b, apart))
            pairs.append(pair)
        kept.append(Match(match.a, match.b, tuple(pairs)))
    return kept, sorted(apart)


def _only(record: Record, apart: set[str]) -> Record:
    return {**record, "g": {name: state for name, state in record["g"].items() if name not in apart}}


def _comparable(a: Sequence[Place], b: Sequence[Place]) -> tuple[Sequence[Place], Sequence[Place]]:
    first_a, first_b = (next((i for i, p in enumerate(ps) if p.addressed), None) for ps in (a, b))
    if first_a is None or first_b is None or a[first_a].key == b[first_b].key:
        return a, b
    return [p for i, p in enumerate(a) if i >= first_a], [p for i, p in enumerate(b) if i >= first_b]


def _shifted(place: Place, shift: int) -> str:
    if not shift or place.addressed:
        return place.key
    return json.dumps([place.chain, place.visit, place.tick + shift], sort_keys=True)


def _last_tick(places: Sequence[Place]) -> int:
    return max((place.tick for place in places if not place.addressed), default=0)


def _shift_by_parameters(ours: Sequence[Place], theirs: Sequence[Place]) -> int:
    """Return the optimizer step of the first run at which its parameters are those that the second begins with.

    Those of the last forward pass before a step are the ones that are trained: an evaluation of others, such as their
    average, may stand before.
    """
    begin = next(((place.tick, _parameters(place)[-1]) for place in theirs if _parameters(place)), None)
    if begin is None:
        return 0
    return next((place.tick - begin[0] for place in ours if begin[1] in _parameters(place)), 0)


def _parameters(place: Place) -> list[str]:
    return [str(record["h"]) for record in place.records if record["t"] == "params"]


def _pairs(ours: Sequence[Record], theirs: Sequence[Record], begins: bool = False) -> list[Pair]:
    """Match records by kind, name and the how-manieth of that name; loaders that were renamed, by their order.

    Args:
        ours: the records of a place of the first run.
        theirs: those of the second.
        begins: whether the second run begins in this place. Then they are counted from the end, which both have: an
            evaluation that the first run made after the step before is no part of the second.
    """
    waiting: dict[tuple[str, str, int], Record] = dict(_numbered(theirs, begins))
    pairs: list[Pair] = []
    for key, record in _numbered(ours, begins):
        pairs.append(Pair(key[0], key[1], record, waiting.pop(key, None)))
    if begins:
        return [pair for pair in pairs if pair.both]
    left: dict[str, list[Record]] = defaultdict(list)
    for key, record in waiting.items():
        left[key[0]].append(record)
    for i, pair in enumerate(pairs):
        if pair.b is None and pair.kind in _LOADERS and left[pair.kind]:
            pairs[i] = Pair(pair.kind, pair.name, pair.a, left[pair.kind].pop(0))
    pairs += [Pair(kind, str(r["n"]), None, r) for kind, records in left.items() for r in records]
    return pairs


def _numbered(records: Sequence[Record], from_end: bool = False) -> list[tuple[tuple[str, str, int], Record]]:
    counts: Counter[tuple[str, str]] = Counter()
    found = []
    for record in reversed(records) if from_end else records:
        kind, name = str(record["t"]), str(record["n"])
        counts[kind, name] += 1
        found.append(((kind, name, counts[kind, name]), record))
    return found[::-1] if from_end else found
