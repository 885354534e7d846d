"""Compare two traces: where do they part, and why."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproseed.trace.align import Alignment, Match, Pair, matches, plain, without_unseeded
from reproseed.trace.causes import find_causes
from reproseed.trace.divergence import Divergence
from reproseed.trace.errors import TraceFormatError
from reproseed.trace.evidence import VALUES, Evidence, gather, harmless
from reproseed.trace.format import FAILED, Trace, check_comparable, read

_NAMES = {
    "rng": "generators", "indices": "indices of", "batch": "batch of", "input": "input of", "params": "parameters of",
    "buffers": "buffers of", "output": "output of", "loss": "value of", "grads": "gradients of",
    "optimizer": "state of", "step.grads": "gradients at the step of", "step.params": "parameters after the step of",
    "end.params": "parameters at the end of the step of", "end.buffers": "buffers at the end of the step of",
}  # fmt: skip
# What is equal on all ranks of one run; their data and noise are meant to differ.
_COMMON = frozenset({"params", "optimizer", "hyper", "step.grads", "step.params", "end.params"})


@dataclass(frozen=True)
class Comparison:
    """What a comparison found.

    Attributes:
        divergence: None if all values that both runs have are equal.
        compared: places in common.
        notes: what limits the comparison, and settings that differ without effect.
    """

    divergence: Divergence | None
    compared: int
    notes: tuple[str, ...]


def compare(a: Trace, b: Trace, alignment: Alignment = "auto", ranks: bool | None = None) -> Comparison:
    """Compare two traces that were read.

    Args:
        a: the first run; of a run and its resumed part, the run.
        b: the second.
        alignment: ``address`` matches places by address, or by optimizer steps from the start where a run has no
            addresses. ``tail`` counts these steps from the end, for the resumed part of such a run; ``auto`` finds the
            step at which the first run has the parameters that the second begins with; ``resumed`` does that, and
            counts from the end where no step has them.
        ranks: compare only what all ranks of one run have in common; by default where the headers' ranks differ.

    Raises:
        TraceFormatError: they use different hashes, or have no place in common.
    """
    check_comparable(a, b)
    found = matches(a, b, alignment)
    if not any(pair.both for match in found for pair in match.pairs):
        raise TraceFormatError(
            f"{a.path} and {b.path} have no place in common: {_span(a)}; {_span(b)}. Are they of the same script, and "
            "does the second begin before the first ends? A resumed run without reproseed needs --align tail."
        )
    if ranks is None:
        ranks = a.header["rank"] != b.header["rank"]
    if ranks:
        found = [Match(m.a, m.b, tuple(p for p in m.pairs if p.kind in _COMMON)) for m in found]
    found, unseeded = without_unseeded(found)
    notes = _notes(a, b, ranks)
    if not any(pair.both and "step of" in pair.name for match in found for pair in match.pairs):
        notes.append(
            "no optimizer step is in both: of a loop that trains by itself only generators, data, modules show"
        )
    if unseeded and not ranks:
        notes.append(f"nobody seeded {', '.join(unseeded)} alike: they stand elsewhere from the start")
    evidence = gather(a, b, found, unseeded)
    if evidence is None:
        for trace in (a, b):
            for note in trace.notes:
                if note.startswith(FAILED):
                    raise TraceFormatError(f"{trace.path} ends early, and nothing differs up to there: {note}.")
        return Comparison(None, len(found), (*notes, *harmless(found)))
    return Comparison(_divergence(evidence, notes), len(evidence.before) + 1, tuple(notes))


def diff(a: str | os.PathLike[str] | Trace, b: str | os.PathLike[str] | Trace, **options: Any) -> Divergence | None:
    """Return where two runs part for the first time and why; None if nothing that both recorded differs.

    Args:
        a: a trace, or its file.
        b: the other one.
        **options: as for `compare`.

    Raises:
        TraceFormatError: a file is no trace, or they cannot be compared.

    >>> import reproseed as rs
    >>> rs.trace.diff("a.jsonl.gz", "b.jsonl.gz")  # doctest: +SKIP
    """
    one, other = (trace if isinstance(trace, Trace) else read(trace) for trace in (a, b))
    return compare(one, other, **options).divergence


def _divergence(e: Evidence, notes: Sequence[str]) -> Divergence:
    first = e.first
    return Divergence(
        address=_address(e),
        place=str(e.match.a),
        what=f"{_what(first)} differ{'s' if first.kind in ('batch', 'input', 'output', 'loss', 'optimizer') else ''}",
        a=_shortened(plain(first.a or {})),
        b=_shortened(plain(first.b or {})),
        causes=find_causes(e),
        equal=tuple(_equal(e)),
        notes=tuple(notes),
        compared=len(e.before) + 1,
        files=(Path(e.a.path).name, Path(e.b.path).name),
    )


def _address(e: Evidence) -> dict[str, Any]:
    address = e.match.a.address
    return address if "step" in address else {**address, "optimizer_step": e.match.a.tick}


def _what(pair: Pair) -> str:
    name = _NAMES[pair.kind]
    return f"{name} {pair.name}" if pair.kind != "rng" else f"{name} ({pair.name})"


def _equal(e: Evidence) -> list[str]:
    """List what was compared and equal on the way to the first difference, nearest last."""
    found: dict[str, None] = {}
    for pairs in (*(m.pairs for m in e.before[-2:]), e.until_first()):
        for pair in pairs:
            if pair.both and not pair.differ and pair.kind in VALUES:
                found.pop(_what(pair), None)  # the latest counts
                found[_what(pair)] = None
    return list(found)[-12:]


def _shortened(record: dict[str, Any]) -> dict[str, Any]:
    """Leave out lists that are long: the causes name what differs in them."""
    return {k: v for k, v in record.items() if not (isinstance(v, (list, dict)) and len(str(v)) > 400)}


def _notes(a: Trace, b: Trace, ranks: bool) -> list[str]:
    notes = [f"{name}: {note}" for name, trace in (("A", a), ("B", b)) for note in trace.notes]
    if a.level != b.level:
        notes.append(f"A was recorded at level {a.level}, B at {b.level}: compared is what both have")
    if ranks:
        one, other = a.header["rank"], b.header["rank"]
        notes.append(f"ranks {one} and {other} of one run: compared are parameters, gradients and optimizers alone")
    return notes


def _span(trace: Trace) -> str:
    if not trace.places:
        return "one is empty"
    return f"one goes from ({trace.places[0]}) to ({trace.places[-1]})"
