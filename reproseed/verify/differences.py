"""Exact comparison of two runs: is everything equal, and where do they part first.

The size of a first difference separates causes: reordered sums start at a few units in the last
place (ULP), a lost optimizer or another batch at ten thousand and more. Two NaN are equal; a
value that only one run reports is a difference of structure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reproseed.verify.fingerprints import Fingerprint
from reproseed.verify.metrics import Key, Point, by_name, keyed, quantum

ROUNDING_ULP = 64
LOGIC_ULP = 4096
EARLY = 0.1
"""The part of the compared steps in which a rounding difference must not have grown."""

CLASSES = ("equal", "rounding", "grey", "logic")

# Bits of the significand, the hidden one included, and the exponent of the smallest subnormal.
_FORMATS = {"float64": (53, -1074), "float32": (24, -149), "float16": (11, -24),
            "bfloat16": (8, -133)}  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """One place where two runs differ.

    Attributes:
        metric: the metric's name, or `final_state:` and a path.
        a, b: the values; None where a run has none.
        ulp: the difference in units of the last place of the metric's dtype at the larger of the
            two magnitudes; infinite where one side is missing, NaN or infinite.
        size: one of `CLASSES`.
    """

    metric: str
    a: float | None
    b: float | None
    step: int | None = None
    epoch: int | None = None
    ulp: float = math.inf
    size: str = "logic"

    @property
    def abs(self) -> float:
        """The absolute difference; infinite where one side is missing."""
        if self.a is None or self.b is None:
            return math.inf
        return abs(self.b - self.a)

    @property
    def rel(self) -> float:
        """The difference relative to the larger magnitude."""
        scale = max(abs(self.a or 0.0), abs(self.b or 0.0))
        return self.abs / scale if scale else self.abs


@dataclass(frozen=True)
class Comparison:
    """What comparing run `b` with run `a` gave.

    Attributes:
        name: repeat, prefix, resume, or the control's name.
        a, b: the runs' names.
        compared: how many values were compared.
        equal_until: how many were equal before the first that was not.
        first: the first difference, of the largest at its step; None if all are equal.
        early_ulp: the largest difference within the first tenth of the compared steps.
        size: the class, one of `CLASSES`.
        state: how many entries of the final state were compared, and how many differ.
        state_size: the largest class of difference in the final state.
        sizes: for the picture: the class of every step, in order.
        note: how the values were aligned, where that was not by their own keys.
    """

    name: str
    a: str
    b: str
    compared: int = 0
    equal_until: int = 0
    first: Difference | None = None
    early_ulp: float = 0.0
    state: tuple[int, int] = (0, 0)
    state_size: str = "equal"
    sizes: tuple[str, ...] = ()
    note: str = ""

    @property
    def equal(self) -> bool:
        """Whether everything that was compared is equal."""
        return self.first is None

    @property
    def size(self) -> str:
        """The class of the first difference."""
        return "equal" if self.first is None else self.first.size

    @property
    def growth(self) -> str:
        """The class of the first difference, or of what it grows to within the first tenth."""
        return max(self.size, classify(self.early_ulp), key=CLASSES.index)


def ulp(a: float, b: float, dtype: str = "float32") -> float:
    """Return |a - b| in units of the last place, at the larger magnitude, in a dtype.

    >>> ulp(1.0, 1.0 + 2**-23)
    1.0
    >>> ulp(1.0, 1.0 + 2**-23, "float64")
    536870912.0
    """
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    bits, smallest = _FORMATS.get(dtype, _FORMATS["float32"])
    _, exponent = math.frexp(max(abs(a), abs(b)))
    return math.ldexp(abs(a - b), -max(exponent - bits, smallest))


def classify(difference: float) -> str:
    """Return the class of a difference in ULP."""
    if difference == 0:
        return "equal"
    if difference <= ROUNDING_ULP:
        return "rounding"
    return "grey" if difference < LOGIC_ULP else "logic"


def worst(comparisons: Sequence[Comparison]) -> str:
    """Return the largest class of difference; equal for none."""
    return max((c.size for c in comparisons), key=CLASSES.index, default="equal")


def compare_runs(
    name: str,
    a: str,
    b: str,
    points_a: Sequence[Point],
    points_b: Sequence[Point],
    state_a: Mapping[str, Fingerprint] | None = None,
    state_b: Mapping[str, Fingerprint] | None = None,
    *,
    note: str = "",
) -> Comparison:
    """Compare two runs that should be equal, value by value in the order of `a`.

    States are compared where both are given. The class is that of the largest difference at the
    step of the first one; a difference in the final state alone is judged by its sampled
    elements, and is grey where these do not show it.
    """
    differences = _metric_differences(points_a, points_b)
    order = list(differences)
    at = next((i for i, key in enumerate(order) if differences[key].size != "equal"), len(order))
    steps = list(dict.fromkeys((epoch, step) for _, epoch, step, _ in order))
    early = set(steps[: max(1, math.ceil(EARLY * len(steps)))])
    first = _largest(differences, order[at][1:3]) if at < len(order) else None
    states = state_differences(state_a or {}, state_b or {}) if state_a or state_b else []
    worst_state = max(states, key=lambda d: CLASSES.index(d.size), default=None)
    return Comparison(
        name,
        a,
        b,
        compared=len(order),
        equal_until=at,
        first=first or worst_state,
        early_ulp=max((d.ulp for k, d in differences.items() if k[1:3] in early), default=0.0),
        state=(len({*(state_a or {}), *(state_b or {})}), len(states)),
        state_size=worst_state.size if worst_state else "equal",
        sizes=_sizes(differences, steps),
        note=note,
    )


def _largest(differences: Mapping[Key, Difference], place: tuple[object, ...]) -> Difference:
    here = [d for key, d in differences.items() if key[1:3] == place and d.size != "equal"]
    return max(here, key=lambda d: (CLASSES.index(d.size), d.ulp))


def _sizes(differences: Mapping[Key, Difference], steps: Sequence[tuple[object, ...]]) -> tuple[str, ...]:
    worst = dict.fromkeys(steps, 0)
    for key, difference in differences.items():
        worst[key[1:3]] = max(worst[key[1:3]], CLASSES.index(difference.size))
    return tuple(CLASSES[index] for index in worst.values())


def _metric_differences(points_a: Sequence[Point], points_b: Sequence[Point]) -> dict[Key, Difference]:
    """Return the difference at every key, those of `a` first and in its order."""
    series_a, series_b = by_name(points_a), by_name(points_b)
    scale = {name: _scale([*series_a.get(name, []), *series_b.get(name, [])]) for name in {**series_a, **series_b}}
    at_a, at_b = keyed(points_a), keyed(points_b)
    result: dict[Key, Difference] = {}
    for key in {**at_a, **at_b}:
        a, b = at_a.get(key), at_b.get(key)
        name, epoch, step, _ = key
        if a is None or b is None:
            value_a = None if a is None else a.value
            value_b = None if b is None else b.value
            result[key] = Difference(name, value_a, value_b, step, epoch)
            continue
        distance, size = _judge(a.value, b.value, *scale[name])
        result[key] = Difference(name, a.value, b.value, step, epoch, distance, size)
    return result


def _scale(points: Sequence[Point]) -> tuple[str, float | None]:
    """Return the dtype that a metric really has, and its quantum if it was rounded."""
    declared = {p.dtype for p in points}
    dtype = next(iter(declared)) if len(declared) == 1 else None
    if dtype in {"float16", "bfloat16", "float32"}:
        return str(dtype), quantum(points)
    # `.item()` makes a Python float of what is no finer than a float32.
    narrow = all(_is_float32(p.value) for p in points)
    return "float32" if narrow else "float64", quantum(points)


def _judge(a: float, b: float, dtype: str, step: float | None) -> tuple[float, str]:
    distance = ulp(a, b, dtype)
    if step is not None and 0 < abs(a - b) <= 2.5 * step:
        # One unit of a rounded decimal can hide anything from an ULP to a lost buffer.
        return distance, "grey"
    return distance, classify(distance)


def _is_float32(value: float) -> bool:
    import struct

    if not math.isfinite(value):
        return True
    try:
        return bool(struct.unpack("<f", struct.pack("<f", value))[0] == value)
    except OverflowError:
        return False


def state_differences(state_a: Mapping[str, Fingerprint], state_b: Mapping[str, Fingerprint]) -> list[Difference]:
    """Return what differs between two final states, in their order."""
    found = []
    for path in {**state_a, **state_b}:
        a, b = state_a.get(path), state_b.get(path)
        if a is not None and b is not None and a["hash"] == b["hash"]:
            continue
        found.append(_state_difference(f"final_state:{path}", a, b))
    return found


def _state_difference(name: str, a: Fingerprint | None, b: Fingerprint | None) -> Difference:
    if a is None or b is None or (a["dtype"], a["shape"]) != (b["dtype"], b["shape"]):
        return Difference(name, None, None)
    if not str(a["dtype"]).removeprefix("b").startswith("float"):
        return Difference(name, *_first_pair(a, b))  # counts and texts do not round
    pairs = [(float(x), float(y)) for x, y in zip(a["sample"], b["sample"], strict=True) if x != y]
    if not pairs:
        return Difference(name, None, None, size="grey")
    x, y = max(pairs, key=lambda pair: ulp(pair[0], pair[1], a["dtype"]))
    distance = ulp(x, y, a["dtype"])
    return Difference(name, x, y, ulp=distance, size=classify(distance) if distance else "grey")


def _first_pair(a: Fingerprint, b: Fingerprint) -> tuple[float | None, float | None]:
    pairs = zip(a["sample"], b["sample"], strict=True)
    return next(((float(x), float(y)) for x, y in pairs if x != y), (None, None))
