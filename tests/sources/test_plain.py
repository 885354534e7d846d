"""Any generator's own state, through the plain types of a checkpoint and back."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from labels import label

from reproseed.errors import StateError
from reproseed.sources.plain import decode, encode
from reproseed.sources.protocol import float_bits
from reproseed.state import _from_jsonable, _jsonable, _to_bytes, _to_tensors

scalars = st.none() | st.booleans() | st.integers(-(2**200), 2**200) | st.floats() | st.text() | st.binary()
keys = st.integers() | st.text()
states = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.lists(inner, max_size=4).map(tuple) | st.dictionaries(keys, inner, max_size=4)
    ),
    max_leaves=20,
)


def same(one, other):
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return float_bits(one) == float_bits(other)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and one.shape == other.shape and torch.equal(one, other)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return one == other


@given(states)
def test_a_state_comes_back_exactly_through_tensors_and_through_json(state):
    plain = encode(state)
    assert same(decode(_to_bytes(_to_tensors(plain), "x")), state)
    assert same(decode(_from_jsonable(_jsonable(plain))), state)


@pytest.mark.parametrize(
    "state",
    [
        np.arange(6, dtype=np.uint32).reshape(2, 3),
        np.array([], dtype=np.float16),
        np.array(2.5),
        np.arange(3, dtype=">i8").astype("=i8"),
        np.uint64(2**64 - 1),
        np.float32(0.1),
        torch.arange(6, dtype=torch.int16).view(3, 2),
        torch.tensor(1.5, dtype=torch.bfloat16),
        torch.tensor([True, False]),
        torch.arange(6).view(2, 3).t(),
    ],
    ids=label,
)
def test_arrays_and_tensors_keep_dtype_and_shape(state):
    assert same(decode(_to_bytes(_to_tensors(encode({"x": (state,)})), "x")), {"x": (state,)})


@pytest.mark.parametrize("state", [object(), {1, 2}, 1j, lambda: 0, np.array([None])], ids=label)
def test_anything_else_is_refused(state):
    with pytest.raises(StateError, match=f"it holds a {type(state).__name__}; a checkpoint takes numbers"):
        encode([state])


def test_an_unknown_kind_is_refused():
    with pytest.raises(StateError, match="it is no state that this library wrote"):
        decode([{"kind": "set"}])
