import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproseed.verify.metrics import Point, by_name, keyed, quantum, select, summaries


def series(values, dtype=None):
    return [Point("loss", float(v), dtype=dtype) for v in values]


def test_a_repeated_place_is_told_apart_by_its_count():
    points = [Point("a", 1.0), Point("b", 2.0), Point("a", 3.0), Point("a", 4.0, step=0)]
    assert list(keyed(points)) == [
        ("a", None, None, 0), ("b", None, None, 0), ("a", None, None, 1), ("a", None, 0, 0),
    ]  # fmt: skip
    assert [p.value for p in by_name(points)["a"]] == [1.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("wanted", "ignored", "kept"),
    [
        ((), (), ["loss", "eval/loss", "time"]),
        (("eval/*",), (), ["eval/loss"]),
        ((), ("time",), ["loss", "eval/loss"]),
        (("*loss",), ("eval*",), ["loss"]),
    ],
    ids=["all", "wanted", "ignored", "both"],
)
def test_metrics_are_chosen_by_pattern(wanted, ignored, kept):
    points = [Point(name, 0.0) for name in ("loss", "eval/loss", "time")]
    assert [p.name for p in select(points, wanted, ignored)] == kept


@pytest.mark.parametrize("digits", [2, 4, 6])
def test_rounded_values_are_recognised_with_their_step(digits):
    values = np.random.default_rng(0).uniform(0.1, 3, 50).round(digits)
    assert quantum(series(values)) == pytest.approx(10.0**-digits)


@pytest.mark.parametrize("values", [[0.12], [0.12, 0.5]], ids=["one", "two"])
def test_few_values_of_few_digits_are_taken_for_rounded_as_they_may_be(values):
    assert quantum(series(values)) == 0.01


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-6, 1.0, 1e5]))
def test_values_in_full_are_not_taken_for_rounded(seed, scale):
    values = (scale * np.random.default_rng(seed).uniform(0.1, 3, 30)).astype(np.float32)
    assert quantum(series(values)) is None


@pytest.mark.parametrize(
    "points",
    [
        pytest.param(series([0.8125, 0.75, 0.5, 0.125]), id="binary fractions"),
        pytest.param(series([0.1001, 0.2, 0.30005], "bfloat16"), id="16 bits"),
        pytest.param(series([1.0, 2.0, 3.0]), id="counts"),
        pytest.param(series([math.nan, math.inf]), id="not finite"),
    ],
)
def test_few_digits_by_nature_are_not_rounding(points):
    assert quantum(points) is None


def test_a_run_is_summed_up_by_its_end_and_its_area():
    assert summaries(series(range(100))) == {"final": 97.0, "area": 49.5}
    assert summaries(series([3.0])) == {"final": 3.0, "area": 3.0}


def test_the_end_of_a_resumed_run_is_that_of_the_whole_one():
    whole = series(range(100))
    assert summaries(whole[50:], of=100)["final"] == summaries(whole)["final"]
