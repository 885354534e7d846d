"""The sentences of a verdict: what differs, where first, and what that points at."""

from __future__ import annotations

import math
from collections.abc import Sequence

from reproseed.verify.differences import CLASSES, Comparison, Difference

_REPEAT = {
    "rounding": "two runs with the same seed differ by rounding: sums in an order that changes"
    " (atomic operations, threads), or a kernel chosen at run time",
    "grey": "two runs with the same seed differ",
    "logic": "two runs with the same seed differ: something draws from a generator that the seed"
    " does not reach, or depends on the order of a set, a folder listing or threads",
}
_PREFIX = (
    "the half run is not the beginning of the full one, and differs more than repeats do: something"
    " depends on the total number of epochs (a learning-rate schedule, say; give it {total_epochs})"
)
_RESUME = (
    "the resumed run is not the rest of the full one, and differs more than repeats and the half"
    " run do: the checkpoint lacks something, or something of it is not restored"
)
_EXPECTED = "as must be expected where the runs before it differ as much"
_CLASS = {
    "rounding": "at rounding level",
    "grey": "too large for reordered sums, or not measurable",
    "logic": "far beyond rounding: a fault of logic",
}


def reasons_of(comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    """Return one sentence for each kind of comparison: what is equal, and what is not."""
    groups = {name: [c for c in comparisons if c.name == name] for name in ("repeat", "prefix", "resume")}
    earlier = 0
    sentences = []
    for name, group in groups.items():
        if group:
            sentences.append(_sentence(name, group, earlier))
            earlier = max(earlier, *(CLASSES.index(c.growth) for c in group))
    return tuple(sentences)


def _sentence(name: str, comparisons: Sequence[Comparison], earlier: int) -> str:
    differ = [c for c in comparisons if not c.equal]
    title = name.capitalize()
    if not any(c.compared or c.state[0] for c in comparisons):
        return f"{title}: {_runs(len(comparisons))} nothing in common that could be compared."
    if not differ:
        return f"{title}: {_runs(len(comparisons))} bit-equal{_covers(comparisons)}."
    first = min(differ, key=lambda c: (-CLASSES.index(c.growth), c.equal_until))
    if earlier >= CLASSES.index(first.growth):
        meaning = _EXPECTED
    else:
        meaning = {"repeat": _REPEAT[first.size], "prefix": _PREFIX, "resume": _RESUME}[name]
    return (
        f"{title}: {len(differ)} of {len(comparisons)} differ; {meaning}."
        f" {first.b} parts from {first.a} {where(first.first)}"
        f" ({_CLASS[first.size]}{_growth(first)}){_only_state(first)}."
    )


def where(difference: Difference | None) -> str:
    """Return where and by how much two runs part."""
    if difference is None:
        return "nowhere"
    place = place_of(difference)
    name = difference.metric.replace("final_state:", "final state ")
    if difference.a is None and difference.b is None:
        return f"{place}: {name} differs"
    if difference.a is None or difference.b is None:
        side = "only the second has" if difference.a is None else "only the first has"
        return f"{place}: {side} {name}"
    size = f", {ulp_text(difference.ulp)}" if math.isfinite(difference.ulp) else ""
    return f"{place}: {name} is {difference.b:.9g}, not {difference.a:.9g}{size}"


def place_of(difference: Difference) -> str:
    """Return the place of a difference in words."""
    if difference.metric.startswith("final_state:"):
        return "at the end"
    parts = []
    if difference.epoch is not None:
        parts.append(f"epoch {difference.epoch}")
    if difference.step is not None:
        parts.append(f"step {difference.step}")
    return "at " + ", ".join(parts) if parts else "at a value without step"


def ulp_text(ulp: float) -> str:
    """Return a distance in ULP, short."""
    if not math.isfinite(ulp):
        return "no common scale"
    return f"{ulp:.0f} ULP" if ulp < 1e5 else f"{ulp:.1e} ULP"


def seed_ignored(unseeded_alive: bool | None) -> str:
    """Return why equal results under two seeds prove nothing."""
    ending = {
        True: "Runs without a seed do differ, so the seed that was passed is not used as it is.",
        False: "Runs without a seed are equal too: the seed is written into the script, or nothing in it is random.",
        None: "The seed is written into the script, or nothing in it is random.",
    }[unseeded_alive]
    return (
        "Another seed gives the same result as the first, so that equal runs prove nothing."
        f" {ending} A script gets the seed by {{seed}} in its command, or by"
        " REPROSEED_MASTER_SEED through reproseed.init()."
    )


def dead_control(other_alive: bool | None) -> str:
    """Return why equal unseeded runs are no control."""
    reason = (
        "The unseeded runs are equal to each other, so that they are no control: without a seed"
        " the script falls back on a constant. That is a default value of its own, or torch's"
        " default generator, which starts from the same constant in every process until somebody"
        " seeds it."
    )
    if other_alive:
        reason += (
            " Another seed does change the result. Leave the unseeded arm out (see below), or make"
            " it draw: without a seed, call torch.seed()."
        )
    return reason


def _runs(count: int) -> str:
    return "1 run," if count == 1 else f"{count} runs,"


def _covers(comparisons: Sequence[Comparison]) -> str:
    values = sum(c.compared for c in comparisons)
    entries = sum(c.state[0] for c in comparisons)
    parts = [f"{values:,} values"] if values else []
    parts += [f"{entries:,} entries of the final state"] if entries else []
    return f" ({' and '.join(parts)})" if parts else ""


def _growth(comparison: Comparison) -> str:
    if comparison.growth == comparison.size:
        return ""
    return f", but growing to {ulp_text(comparison.early_ulp)} within the first tenth"


def _only_state(comparison: Comparison) -> str:
    if comparison.compared and comparison.equal_until == comparison.compared:
        total, differ = comparison.state
        return (
            f"; every metric is equal, yet {differ} of {total} entries of the final state are not:"
            " buffers or averages that the metrics do not show"
        )
    return ""
