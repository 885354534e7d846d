"""`assert_reproducible`: the same check for a loop inside one process, as a test calls it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reproseed.verify.arms import derive_seed
from reproseed.verify.differences import Difference, state_differences
from reproseed.verify.errors import NotReproducibleError, UsageError
from reproseed.verify.fingerprints import Fingerprint, fingerprint_state
from reproseed.verify.wording import ulp_text


def assert_reproducible(
    fn: Callable[[int], Any],
    *,
    seed: int = 42,
    repeats: int = 2,
    seed_matters: bool = True,
) -> None:
    """Assert that `fn(seed)` gives the same bits every time, and others for another seed.

    Calls run one after the other in this process, and what one leaves behind (generator states,
    caches) is there for the next: a function that depends on it fails, which is the point. For
    what only a fresh process shows (hash order, compile caches), use `verify`.

    Args:
        fn: runs a loop from a seed and returns what must be equal: metrics, tensors, models,
            optimizers, state dicts, nested in dicts and lists as one likes.
        seed: the seed.
        repeats: how often it is called with that seed, at least 2.
        seed_matters: whether another seed must change the result.

    Raises:
        NotReproducibleError: an AssertionError; names the first place that differs.
        FinalStateError: something returned cannot be compared.

    >>> import random
    >>> assert_reproducible(lambda seed: [random.Random(seed).random() for _ in range(3)])
    """
    if repeats < 2:
        raise UsageError(f"repeats is {repeats}; it takes at least 2 calls to compare.")
    first = _state(fn(seed))
    for call in range(2, repeats + 1):
        found = _first_difference(first, _state(fn(seed)))
        if found is not None:
            raise NotReproducibleError(
                f"call 1 and call {call} with seed {seed} differ {_describe(found)}."
                " Something in the function does not follow the seed: a generator that it does not"
                " reach, or state that the call before left behind."
            )
    if seed_matters:
        other = derive_seed(seed, "other")
        if _first_difference(first, _state(fn(other))) is None:
            raise NotReproducibleError(
                f"seeds {seed} and {other} give equal results, so that equality proves nothing."
                " Does the function use its seed? Pass seed_matters=False if it draws nothing."
            )


def _state(result: Any) -> dict[str, Fingerprint]:
    # Fingerprints are taken at once: the next call may change what was returned in place.
    return fingerprint_state(result if isinstance(result, Mapping) else {"result": result})


def _first_difference(a: Mapping[str, Fingerprint], b: Mapping[str, Fingerprint]) -> Difference | None:
    return next(iter(state_differences(a, b)), None)


def _describe(difference: Difference) -> str:
    name = difference.metric.removeprefix("final_state:")
    if difference.a is None or difference.b is None:
        return f"in {name!r}"
    size = f" ({ulp_text(difference.ulp)})" if difference.ulp else ""
    return f"in {name!r}: {difference.a!r} and {difference.b!r}{size}"
