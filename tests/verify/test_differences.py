import math
import struct

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from reproseed.verify.differences import classify, compare_runs, ulp
from reproseed.verify.fingerprints import fingerprint_state
from reproseed.verify.metrics import Point

floats = st.floats(allow_nan=False, allow_infinity=False)


def run(*values, name="loss", dtype="float32", epoch=None):
    return [Point(name, v, step, epoch, dtype) for step, v in enumerate(values)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@given(data=st.data())
def test_neighbouring_numbers_are_one_ulp_apart(dtype, data):
    kind = np.dtype(dtype).type
    width = {"float16": 16, "float32": 32, "float64": 64}[dtype]
    a = kind(data.draw(st.floats(allow_nan=False, allow_infinity=False, width=width)))
    with np.errstate(all="ignore"):
        b = np.nextafter(a, kind(np.inf))
    assume(np.isfinite(b))
    # At a power of two the spacing below is half of that at the number itself.
    assert ulp(float(a), float(b), dtype) in {1.0, 0.5}


def test_bfloat16_has_eight_bits():
    a = torch.tensor(1.0, dtype=torch.bfloat16)
    b = torch.nextafter(a, torch.tensor(2.0, dtype=torch.bfloat16))
    assert ulp(a.item(), b.item(), "bfloat16") == 1


@given(floats, floats)
def test_distance_is_symmetric_and_zero_only_for_equals(a, b):
    assert ulp(a, b, "float64") == ulp(b, a, "float64")
    assert (ulp(a, b, "float64") == 0) == (a == b)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [(math.nan, math.nan, 0), (math.inf, math.inf, 0), (math.inf, 1.0, math.inf),
     (math.nan, 1.0, math.inf), (math.inf, -math.inf, math.inf), (0.0, -0.0, 0)],
    ids=str,
)  # fmt: skip
def test_values_that_are_not_finite(a, b, expected):
    assert ulp(a, b) == expected


def test_nan_with_another_payload_is_equal():
    other = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000001))[0]
    assert compare_runs("repeat", "a", "b", run(math.nan), run(other)).equal


@pytest.mark.parametrize(
    ("distance", "size"),
    [(0, "equal"), (0.5, "rounding"), (64, "rounding"), (65, "grey"), (4095, "grey"),
     (4096, "logic"), (math.inf, "logic")],
    ids=str,
)  # fmt: skip
def test_thresholds(distance, size):
    assert classify(distance) == size


def test_the_first_difference_is_named_with_its_place_and_size():
    a = [Point("loss", 1.0, s, s // 2, "float32") for s in range(6)]
    b = [*a[:3], Point("loss", 1.0 + 2**-20, 3, 1, "float32"), *a[4:]]
    found = compare_runs("repeat", "full-0", "full-1", a, b)
    first = found.first
    assert (first.metric, first.step, first.epoch, first.a, first.b) == ("loss", 3, 1, 1.0, b[3].value)
    assert (first.ulp, first.abs, found.equal_until, found.compared) == (8, 2**-20, 3, 6)
    assert first.rel == pytest.approx(2**-20)
    assert found.sizes == ("equal",) * 3 + ("rounding",) + ("equal",) * 2


def test_the_class_is_that_of_the_largest_difference_at_the_first_step():
    a = run(1.0, 1.0) + run(1.0, 1.0, name="eval")
    b = run(1.0 + 2**-23, 5.0) + run(2.0, 1.0, name="eval")
    found = compare_runs("repeat", "a", "b", a, b)
    assert (found.first.metric, found.first.step, found.size) == ("eval", 0, "logic")


def test_a_value_that_one_run_lacks_is_a_fault_of_logic():
    found = compare_runs("repeat", "a", "b", run(1.0, 2.0), run(1.0))
    assert (found.size, found.first.a, found.first.b) == ("logic", 2.0, None)
    found = compare_runs("repeat", "a", "b", run(1.0), run(1.0, 2.0))
    assert (found.size, found.first.a, found.first.b) == ("logic", None, 2.0)


def test_python_floats_that_are_float32_are_judged_as_such():
    """`.item()` hides the dtype: one float32 ULP would be half a billion float64 ones."""
    one = float(np.float32(0.1))
    two = float(np.nextafter(np.float32(0.1), np.float32(1)))
    found = compare_runs("repeat", "a", "b", run(one, dtype=None), run(two, dtype=None))
    assert (found.first.ulp, found.size) == (1, "rounding")
    found = compare_runs("repeat", "a", "b", run(0.1, dtype=None), run(0.1 + 1e-8, dtype=None))
    assert found.size == "logic"


def test_one_unit_of_a_rounded_log_is_grey():
    a = run(0.8779, 0.4312, 0.2201, dtype=None)
    b = run(0.8779, 0.4313, 0.2201, dtype=None)
    assert compare_runs("repeat", "a", "b", a, b).size == "grey"
    b = run(0.8779, 0.4512, 0.2201, dtype=None)
    assert compare_runs("repeat", "a", "b", a, b).size == "logic"


def test_early_growth_is_measured_over_the_first_tenth():
    a = run(*[1.0] * 40)
    b = run(1.0, *[1.0 + 2**-23] * 2, 1.0 + 100 * 2**-23, *[3.0] * 36)
    found = compare_runs("repeat", "a", "b", a, b)
    assert (found.size, found.early_ulp, found.growth) == ("rounding", 100, "grey")


def states(**changes):
    model = {"w": torch.linspace(0, 1, 50), "running_mean": torch.zeros(4)}
    return fingerprint_state(model | changes)


@pytest.mark.parametrize(
    ("change", "size"),
    [
        ({"running_mean": torch.ones(4)}, "logic"),
        ({"w": torch.linspace(0, 1, 50) * (1 + 2**-22)}, "rounding"),
        ({"w": torch.linspace(0, 1, 50).index_fill(0, torch.tensor(1), 9.0)}, "grey"),
        ({"w": torch.linspace(0, 1, 50).double()}, "logic"),
        ({"w": torch.zeros(2, 25)}, "logic"),
        ({"extra": 1}, "logic"),
    ],
    ids=["lost buffer", "rounding", "outside of the sample", "dtype", "shape", "missing"],
)
def test_equal_metrics_with_another_final_state(change, size):
    points = run(1.0, 2.0)
    found = compare_runs("resume", "a", "b", points, points, states(), states(**change))
    assert (found.equal, found.size, found.state_size) == (False, size, size)
    assert found.first.metric == f"final_state:{next(iter(change))}"
    assert found.state[1] == 1


def test_equal_states_are_counted():
    found = compare_runs("resume", "a", "b", [], [], states(), states())
    assert (found.equal, found.state) == (True, (2, 0))
