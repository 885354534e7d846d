"""Causes in the generators that the run knows: seeds, draws, states put back."""

from __future__ import annotations

import base64
from typing import Any, Literal

from reproseed.trace.align import Pair, moved
from reproseed.trace.divergence import Cause
from reproseed.trace.evidence import Evidence
from reproseed.trace.mersenne_track import steps_between

Kind = Literal["draw", "rewind", "reseed", "other"]
_WHERE = {"scope": "as the scope began", "step": "as the step began", "end": "at the end of the step"}


def scope_seed(e: Evidence) -> Cause | None:
    """The streams that a scope or step installed differ."""
    if e.first.name not in ("scope", "step"):
        return None
    one, other = e.a.header.get("master_seed"), e.b.header.get("master_seed")
    names = moved(e.first.a or {}, e.first.b or {})
    seeds = f"master seed {one} in A, {other} in B" if one != other else "with one master seed"
    return Cause("SCOPE_SEED", "certain", (f"{', '.join(names)} got another stream {_at(e.first)}: {seeds}",))


def rewind(e: Evidence) -> Cause | None:
    """A generator went back to where it had been."""
    return _cause(e, e.first, "rewind", "RNG_REWIND")


def reseed(e: Evidence) -> Cause | None:
    """A generator was seeded anew."""
    return _cause(e, e.first, "reseed", "RNG_RESEED")


def extra_draw(e: Evidence) -> Cause | None:
    """One run drew more."""
    return _cause(e, e.first, "draw", "RNG_EXTRA_DRAW") or _cause(e, e.first, "other", "RNG_RESEED")


def in_forward(e: Evidence) -> Cause | None:
    """The known generators parted inside the forward call, in which an output differs."""
    for pair in e.pairs("rng"):
        if pair.name.startswith("after forward of ") and pair.differ:
            return _any(e, pair)
    return None


def before_batch(e: Evidence) -> Cause | None:
    """The known generators parted before the indices were drawn."""
    for pair in e.pairs("rng"):
        if pair.differ and e.match.pairs.index(pair) < e.match.pairs.index(e.first):
            return _any(e, pair)
    return None


def never_seeded(e: Evidence) -> Cause | None:
    """A generator that nobody seeded alike was drawn from."""
    drawn = [name for name in e.unseeded if _draws(e, name)]
    if not drawn:
        return None
    told = f"{', '.join(drawn)} stands elsewhere from the start of the two runs, and is drawn from"
    return Cause("SCOPE_SEED", "likely", (told,))


def _draws(e: Evidence, generator: str) -> bool:
    """Whether the first run drew from a generator at the place, or on the way there."""
    states = {
        str(record["g"][generator])
        for place in (*(m.a for m in e.before), e.match.a)
        for record in place.records
        if record["t"] == "rng" and generator in record["g"]
    }
    return len(states) > 1


def _any(e: Evidence, pair: Pair) -> Cause | None:
    return (
        _cause(e, pair, "rewind", "RNG_REWIND")
        or _cause(e, pair, "reseed", "RNG_RESEED")
        or _cause(e, pair, "draw", "RNG_EXTRA_DRAW")
        or _cause(e, pair, "other", "RNG_RESEED")
    )


def _cause(e: Evidence, pair: Pair, kind: Kind, name: str) -> Cause | None:
    told = [_relation(e, pair, generator) for generator in moved(pair.a or {}, pair.b or {})]
    mine = [sentence for one, sentence in told if one == kind]
    if not mine:
        return None
    evidence = [*mine, *(sentence for one, sentence in told if one != kind), *_extra(e)]
    return Cause(name, "likely" if kind == "other" else "certain", tuple(evidence))


def _relation(e: Evidence, pair: Pair, generator: str) -> tuple[Kind, str]:
    """Say how a generator's states of the two runs are related."""
    a, b = (pair.a or {})["g"][generator], (pair.b or {})["g"][generator]
    where = _at(pair)
    if not isinstance(a, list) or not isinstance(b, list):
        return _counter(generator, str(a), str(b), where)
    for run, entry in (("A", a), ("B", b)):
        other = b if run == "A" else a
        if entry[4].startswith("back") and not other[4].startswith("back"):
            words = entry[4].removeprefix("back ")
            return "rewind", f"{generator}: {run} went back by {words} words to where it had been, {where}"
    shift = 0 if a[1] == b[1] else _shift(e, generator, a[1], b[1])
    if shift is not None:
        more = b[2] + shift - a[2]
        if more == 0:
            return "other", f"{generator}: same stream and position, another cached normal, {where}"
        run, words = ("B", more) if more > 0 else ("A", -more)
        return "draw", f"{generator}: same stream, {run} drew {words} {'word' if words == 1 else 'words'} more, {where}"
    if a[3] != b[3]:
        return "reseed", f"{generator}: other streams, its seed is {a[3]} in A and {b[3]} in B, {where}"
    new = [run for run, entry in (("A", a), ("B", b)) if entry[4] == "new"]
    if len(new) == 1:
        return (
            "reseed",
            f"{generator}: in {new[0]} it left its stream for a state that does not follow from it, {where}",
        )
    return "other", f"{generator}: the two states lie on other streams, {where}"


def _counter(generator: str, a: str, b: str, where: str) -> tuple[Kind, str]:
    """Compare counter-based generators by seed and offset, others by their digest."""
    if a.startswith("philox:") and b.startswith("philox:"):
        (_, seed_a, at_a), (_, seed_b, at_b) = a.split(":"), b.split(":")
        if seed_a != seed_b:
            return "reseed", f"{generator}: its seed is {seed_a} in A and {seed_b} in B, {where}"
        more = int(at_b) - int(at_a)
        return "draw", f"{generator}: same seed, {'B' if more > 0 else 'A'} is {abs(more)} ahead, {where}"
    return "other", f"{generator}: its states differ, {where}"


def _shift(e: Evidence, generator: str, a: str, b: str) -> int | None:
    """Return by how many words B's anchor lies behind A's on one stream; None if they lie on different ones."""
    keys = [_anchor(trace.places, generator, stream) for trace, stream in ((e.a, a), (e.b, b))]
    if keys[0] is None or keys[1] is None:
        return None
    ahead = steps_between(keys[0], keys[1], 4_000)
    if ahead is not None:
        return ahead * 624
    behind = steps_between(keys[1], keys[0], 4_000)
    return None if behind is None else -behind * 624


def _anchor(places: Any, generator: str, stream: str) -> bytes | None:
    for place in places:
        for record in place.records:
            if record["t"] == "anchor" and record["n"] == generator and record["stream"] == stream:
                return base64.b64decode(record["key"])
    return None


def _extra(e: Evidence) -> list[str]:
    """Say what one run alone did at the place, which may be what drew."""
    told: dict[str, None] = {}
    for pair in e.one_sided("loader", "input", "batch"):
        run = "A" if pair.b is None else "B"
        verb = "called" if pair.kind == "input" else "iterated"
        told[f"only {run} {verb} {pair.name} there"] = None
    return list(told)[:3]


def _at(pair: Pair) -> str:
    return _WHERE.get(pair.name, pair.name)
