"""What the rules that name a cause may look at: the pairs at the place where two runs part, and what led there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from reproseed.trace.align import Match, Pair
from reproseed.trace.format import Trace

# A difference in one of these is a difference between the runs; the others say how the runs were made.
VALUES = frozenset(
    {
        "rng", "indices", "batch", "input", "params", "buffers", "output", "loss", "grads", "optimizer", "step.grads",
        "step.params", "end.params", "end.buffers",
    }
)  # fmt: skip
# Repeated at every step: what differed before without effect is not the cause of what differs now.
_REPEATED = frozenset({"mode", "settings", "hyper", "flags"})
_OF_LOADERS = ("loader", "sampler", "dataset", "generator")
# Variables that are meant to differ between runs, or only say where the run's numbers come from.
_NOT_NUMERIC = frozenset(
    {"PYTHONHASHSEED", "REPROSEED_MASTER_SEED", "REPROSEED_SEEDING", "REPROSEED_TASK_SEEDS", "CUDA_VISIBLE_DEVICES"}
)


@dataclass
class Evidence:
    """All that was compared up to and at the place where the runs part.

    Attributes:
        a: the first run.
        b: the second run.
        match: the place.
        first: the first pair of values that differ.
        before: the places before, in order.
        acquitted: kinds and names of settings that differed earlier without effect.
        unseeded: generators that both runs have and that nobody seeded alike.
        context: by kind and name, how each loader was made, as of the last time.
    """

    a: Trace
    b: Trace
    match: Match
    first: Pair
    before: Sequence[Match]
    acquitted: set[tuple[str, str]] = field(default_factory=set)
    unseeded: Sequence[str] = ()
    context: dict[tuple[str, str], Pair] = field(default_factory=dict)

    @property
    def same_level(self) -> bool:
        """Whether both recorded the same kinds of things, so that a record of one side alone tells something."""
        return self.a.level == self.b.level and self.a.notes == self.b.notes

    @property
    def begins_later(self) -> str:
        """Which run was resumed: ``A``, ``B``, or an empty text if both begin at the same place."""
        begun = [next((p for p in t.places if p.addressed), None) for t in (self.a, self.b)]
        if begun[0] is None or begun[1] is None or begun[0].key == begun[1].key:
            return ""
        return "B" if any(place.key == begun[1].key for place in self.a.places) else "A"

    def pairs(self, kind: str, name: str | None = None) -> list[Pair]:
        """Return the pairs of a kind at this place."""
        return [p for p in self.match.pairs if p.kind == kind and (name is None or p.name == name)]

    def differing(self, kind: str) -> list[Pair]:
        """Return those that differ, and did not before without effect."""
        return [p for p in self.pairs(kind) if p.differ and (kind, p.name) not in self.acquitted]

    def one_sided(self, *kinds: str) -> list[Pair]:
        """Return the records of kinds that one run alone has here."""
        return [p for p in self.match.pairs if p.kind in kinds and not p.both]

    def until_first(self) -> list[Pair]:
        """Return the pairs of this place before the first difference."""
        return list(self.match.pairs[: self.match.pairs.index(self.first)])

    def latest(self, kind: str, name: str | None = None) -> Pair | None:
        """Return the last pair of a kind that both runs have, before the first difference."""
        for pairs in (self.until_first(), *(m.pairs for m in reversed(self.before[-6:]))):
            for pair in reversed(pairs):
                if pair.kind == kind and pair.both and (name is None or pair.name == name):
                    return pair
        return None

    def was_equal(self, kind: str, name: str | None = None) -> bool:
        """Whether the last pair of a kind was compared and equal."""
        pair = self.latest(kind, name)
        return pair is not None and not pair.differ

    def seen_before(self, kinds: Iterable[str], name: str) -> bool:
        """Whether a thing was compared, and equal, at any place before."""
        wanted = frozenset(kinds)
        return any(
            p.kind in wanted and p.both and (p.name == name or p.kind == "step.params")
            for m in self.before
            for p in m.pairs
        )

    def of_loaders(self, kind: str, differ: bool = True) -> list[Pair]:
        """Return how loaders were made, as of their last pass: by default what differs; one-sided counts."""
        label = self.first.name if self.first.kind in ("indices", "batch") else None
        ours = (label, f" of {label}")
        found = [
            p
            for (k, n), p in self.context.items()
            if k == kind and (label is None or n == ours[0] or n.endswith(ours[1]))
        ]
        return [p for p in found if not differ or p.differ or not p.both]

    def environment(self) -> list[str]:
        """Return how the processes differ in what may change rounding, as sentences."""
        ours, theirs = self.a.header, self.b.header
        found = []
        for part in ("versions", "machine", "variables"):
            for name in sorted({*ours[part], *theirs[part]} - _NOT_NUMERIC):
                one, other = ours[part].get(name), theirs[part].get(name)
                if one != other:
                    found.append(f"{name} is {one!r} in A and {other!r} in B")
        for pair in self.differing("flags"):
            found += [f"{k} is {pair.field(k)[0]!r} in A and {pair.field(k)[1]!r} in B" for k in changed(pair)]
        return found


def changed(pair: Pair) -> list[str]:
    """Return the fields of a pair that differ."""
    a: dict[str, Any] = pair.a or {}
    b: dict[str, Any] = pair.b or {}
    return [key for key in dict.fromkeys([*a, *b]) if key not in ("t", "n") and a.get(key) != b.get(key)]


def gather(a: Trace, b: Trace, found: Sequence[Match], unseeded: Sequence[str] = ()) -> Evidence | None:
    """Walk the places in order; return the evidence at the first that differs in a value, None if none does."""
    context: dict[tuple[str, str], Pair] = {}
    repeated: set[tuple[str, str]] = set()
    for number, match in enumerate(found):
        for pair in match.pairs:
            if pair.kind in _OF_LOADERS:
                context[pair.kind, pair.name] = pair
        for pair in match.pairs:
            if pair.kind in VALUES and pair.differ:
                return Evidence(a, b, match, pair, found[:number], repeated, unseeded, context)
        repeated |= {(p.kind, p.name) for p in match.pairs if p.kind in _REPEATED and p.differ}
    return None


def harmless(found: Sequence[Match]) -> list[str]:
    """Return settings that differ between two runs whose values are all equal, as sentences."""
    told: dict[str, None] = {}
    for match in found:
        for pair in match.pairs:
            if pair.kind not in VALUES and pair.kind not in ("op", "anchor", "note") and pair.differ:
                told[f"{pair.kind} of {pair.name} differs ({', '.join(pair.changed_keys() or changed(pair))})"] = None
    return list(told)
