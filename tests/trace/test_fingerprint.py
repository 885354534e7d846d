"""Equal bits, dtype and shape, and only those, give equal digests."""

from __future__ import annotations

import math
import random
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from reproseed.trace import TraceError, fingerprint
from reproseed.trace.fingerprint import order_free, sample_digests, structure_digest, tensor_digest, value_digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(torch.zeros(4), torch.zeros(2, 2), id="shape"),
        pytest.param(torch.zeros(4), torch.zeros(4, dtype=torch.int32), id="dtype"),
        pytest.param(torch.tensor([0.0]), torch.tensor([-0.0]), id="negative zero"),
        pytest.param(torch.tensor([1.0, 2.0]), torch.tensor([2.0, 1.0]), id="order"),
        pytest.param(torch.tensor([1.0, 1.0]), torch.tensor([0.0, 0.0]), id="equal pairs"),
        pytest.param(torch.ones(3), torch.ones(3) + torch.tensor([0, 0, 2**-23]), id="last bit"),
        pytest.param(torch.ones(1), torch.tensor([math.nan]), id="nan"),
    ],
)
def test_different_tensors_have_different_digests(one, other):
    assert tensor_digest(one) != tensor_digest(other)


@pytest.mark.parametrize(
    "dtype",
    [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int64, torch.bool, torch.complex64,
     torch.float8_e4m3fn],
    ids=str,
)  # fmt: skip
def test_strides_and_storage_do_not_count(dtype):
    whole = torch.arange(24).reshape(4, 6).to(dtype)
    part = whole[:, ::2].t()
    assert not part.is_contiguous()
    assert tensor_digest(part) == tensor_digest(part.contiguous().clone())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str)
def test_every_nan_is_one_value(dtype):
    bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[torch.empty(0, dtype=dtype).element_size()]
    nan = torch.tensor([1.0, math.nan, 2.0], dtype=dtype)
    other = nan.view(bits).clone()
    other[1] += 1
    assert torch.isnan(other.view(dtype)[1])
    assert tensor_digest(nan) == tensor_digest(other.view(dtype))


def test_infinities_that_cancel_in_a_sum_are_no_nan():
    one = torch.tensor([math.inf, -math.inf, 1.0])
    assert tensor_digest(one) != tensor_digest(-one)


@pytest.mark.parametrize(
    "tensor",
    [
        pytest.param(torch.zeros(0, 3), id="empty"),
        pytest.param(torch.tensor(3), id="scalar"),
        pytest.param(torch.ones(3, device="meta"), id="meta"),
        pytest.param(torch.eye(3).to_sparse(), id="sparse"),
        pytest.param(torch.tensor([1 + 2j]).conj(), id="conjugate"),
        pytest.param(torch.nn.Parameter(torch.ones(2)), id="parameter"),
    ],
)
def test_odd_tensors_can_be_hashed(tensor):
    assert tensor_digest(tensor) == tensor_digest(tensor)
    assert len(tensor_digest(tensor)) == 32


def test_hashing_is_invisible_to_the_users_modes():
    seen_by_mode = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen_by_mode.append(func)
            return func(*args, **(kwargs or {}))

    tensor = torch.ones(3, 2).t()
    with Mode():
        tensor_digest(tensor)
    assert not seen_by_mode
    seen = torch.func.vmap(lambda x: (tensor_digest(x), x * 2)[1])(torch.ones(2, 3))
    assert torch.equal(seen, torch.full((2, 3), 2.0))


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=12), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=50)
def test_sample_digests_follow_the_samples_and_are_equal_free_of_order(values, rng):
    images = torch.tensor(values, dtype=torch.float32).unsqueeze(1).repeat(1, 3)
    batch = {"x": images, "y": torch.tensor(values)}
    order = list(range(len(values)))
    rng.shuffle(order)
    shuffled = {"x": images[order], "y": batch["y"][order]}
    mine, theirs = sample_digests(batch), sample_digests(shuffled)
    assert [mine[i] for i in order] == theirs
    assert order_free(mine) == order_free(theirs)
    assert (structure_digest(batch) == structure_digest(shuffled)) == (values == [values[i] for i in order])


def test_a_structure_tells_shapes_and_differs_by_its_keys():
    one = structure_digest({"a": torch.ones(2, 3), "b": [np.ones(3), "x"]})
    assert one.shape == ".a:float32[2,3] .b[0]:float64[3] .b[1]:str"
    assert one.digest != structure_digest({"c": torch.ones(2, 3), "b": [np.ones(3), "x"]}).digest


def test_plain_values_differ_by_type():
    assert len({value_digest(v) for v in (1, 1.0, True, "1", None, b"1")}) == 6


def test_hashing_draws_nothing():
    before = random.getstate(), np.random.get_state()[1].tobytes(), torch.get_rng_state()
    structure_digest([torch.rand(4, generator=torch.Generator()), np.arange(3)])
    assert random.getstate() == before[0]
    assert np.random.get_state()[1].tobytes() == before[1]
    assert torch.equal(torch.get_rng_state(), before[2])


def test_without_xxhash_the_error_names_the_extra(monkeypatch):
    fingerprint.hasher.cache_clear()
    monkeypatch.setitem(sys.modules, "xxhash", None)
    try:
        with pytest.raises(TraceError, match=r'xxhash, which is not installed: pip install "reproseed\[cli\]"\.'):
            tensor_digest(torch.ones(1))
    finally:
        fingerprint.hasher.cache_clear()
