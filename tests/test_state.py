"""The checkpoint's form: what it is made of, what it survives, and what is said of a damaged one."""

from __future__ import annotations

import copy
import io
import json
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from labels import label

import reproseed as rs
from reproseed.sources.plain import decode, encode
from reproseed.state import PARTS, from_json, seal, to_json, unseal


def _draws() -> tuple[float, float, float]:
    return random.random(), float(np.random.rand()), float(torch.rand(()))


def _saved() -> dict[str, Any]:
    """Return the state of a run that has drawn, with a cached normal in all three libraries."""
    rs.init(master_seed=5)
    _draws()
    random.gauss(0, 1)
    np.random.randn()
    torch.randn(3)
    return rs.state_dict()


def _leaves(value: Any):
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _map(value: Any, change: Callable[[Any], Any]) -> Any:
    """Map over containers as helpers of frameworks do."""
    if isinstance(value, dict):
        return {key: _map(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_map(item, change) for item in value)
    return change(value)


def _tensors(change: Callable[[torch.Tensor], Any]) -> Callable[[Any], Any]:
    return lambda leaf: change(leaf) if isinstance(leaf, torch.Tensor) else leaf


def _swapped(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _swapped(item) for key, item in value.items()}
    return tuple(map(_swapped, value)) if isinstance(value, list) else value


def test_it_is_made_of_ints_strings_lists_dicts_and_cpu_bytes():
    state = _saved()
    assert set(state) == {*PARTS, "checksums"}
    for leaf in _leaves(state):
        assert type(leaf) in (int, str, torch.Tensor)
        if isinstance(leaf, torch.Tensor):
            assert leaf.dtype == torch.uint8
            assert leaf.device.type == "cpu"


def test_torch_load_takes_it_with_its_defaults_and_without_an_allow_list():
    state = _saved()
    ours = [one for one in torch.serialization.get_safe_globals() if "reproseed" in str(getattr(one, "__module__", ""))]
    assert not ours
    file = io.BytesIO()
    torch.save({"model": {"w": torch.ones(2)}, "rng": state}, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=True)["rng"]
    assert unseal(loaded) == unseal(state)


SURVIVED = {
    "torch.save": lambda s: torch.load(_file(s), map_location="cpu"),
    "map_location": lambda s: torch.load(_file(s), map_location=torch.device("cpu")),
    "tuples for lists": _swapped,
    "tree map": lambda s: torch.utils._pytree.tree_map(_tensors(torch.clone), s),
    "deepcopy": copy.deepcopy,
    "pickle": lambda s: pickle.loads(pickle.dumps(s)),
    "float32": lambda s: _map(s, _tensors(torch.Tensor.float)),
    "float64": lambda s: _map(s, _tensors(torch.Tensor.double)),
    "float16": lambda s: _map(s, _tensors(torch.Tensor.half)),
    "bfloat16": lambda s: _map(s, _tensors(torch.Tensor.bfloat16)),
    "int64": lambda s: _map(s, _tensors(torch.Tensor.long)),
    "parameters": lambda s: _map(s, _tensors(lambda t: torch.nn.Parameter(t.float()))),
    "a batch dimension": lambda s: _map(s, _tensors(lambda t: t[None])),
    "JSON": lambda s: from_json(to_json(s)),
    "JSON of a cast one": lambda s: from_json(to_json(_map(s, _tensors(torch.Tensor.float)))),
    "JSON text": to_json,
    "JSON text, indented": lambda s: json.dumps(json.loads(to_json(s)), indent=1),
}


def _file(state: Any) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return file


@pytest.mark.parametrize("change", SURVIVED.values(), ids=SURVIVED.keys())
def test_it_survives(change):
    state = _saved()
    following = _draws(), random.gauss(0, 1), np.random.randn(), torch.randn(3).tolist()
    changed = change(state)
    assert unseal(changed) == unseal(state)
    rs.init(master_seed=5)
    rs.load_state_dict(changed)
    assert (_draws(), random.gauss(0, 1), np.random.randn(), torch.randn(3).tolist()) == following


def test_it_can_be_made_and_loaded_under_a_default_device():
    rs.init(master_seed=5)
    with torch.device("meta"):
        state = rs.state_dict()
        rs.load_state_dict(state)
    assert unseal(state) == unseal(rs.state_dict())


def test_a_meta_tensor_is_refused_by_name():
    state = _map(_saved(), _tensors(lambda t: t.to("meta")))
    with pytest.raises(rs.StateError, match=r"part 'snapshot\.\S+' lies on the meta device, which holds no data"):
        unseal(state)


def test_values_that_are_no_bytes_are_refused_by_name_and_dtype():
    state = _map(_saved(), _tensors(lambda t: t.float() + 0.5))
    with pytest.raises(
        rs.StateError, match=r"part 'snapshot\.\S+' is a tensor of torch.float32 with values that are no"
    ):
        unseal(state)


@pytest.mark.parametrize("name", [*PARTS, "checksums"])
def test_a_missing_part_is_named(name):
    state = _saved()
    del state[name]
    with pytest.raises(rs.StateError, match=f"the checkpoint lacks '{name}': it was cut, or is no state_dict"):
        unseal(state)


EDITS = {int: lambda v: v + 1, dict: lambda v: {**v, "more": 1}, list: lambda v: [*v, {}]}


@pytest.mark.parametrize("name", [name for name in PARTS if name != "format"])
def test_an_edited_part_is_named(name):
    state = _saved()
    state[name] = EDITS[PARTS[name]](state[name])
    with pytest.raises(rs.StateError, match=f"part '{name}' is damaged: it does not have the checksum"):
        unseal(state)


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_another_type_is_named(name):
    state = _saved()
    state[name] = "text"
    expected = "has format 'text'" if name == "format" else f"part '{name}' is a str, not a {PARTS[name].__name__}"
    with pytest.raises(rs.StateError, match=expected):
        unseal(state)


def test_a_single_changed_byte_is_found():
    state = _saved()
    state["snapshot"]["python"]["words"][1234] ^= 1
    with pytest.raises(rs.StateError, match="part 'snapshot' is damaged"):
        unseal(state)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the checkpoint's text is no JSON"),
        ("{", "the checkpoint's text is no JSON"),
        ("[1]", "the checkpoint's JSON is a list, not an object"),
        ("{}", "the checkpoint lacks 'format'"),
        ('{"x": {"base64": "abc"}}', "the checkpoint's JSON is damaged: a state in it is no base64"),
        ('{"x": {"base64": 3}}', "the checkpoint's JSON is damaged: a state in it is no base64"),
        ('{"x": {"base64": "a*b="}}', "the checkpoint's JSON is damaged: a state in it is no base64"),
    ],
)
def test_a_text_that_is_no_checkpoint_says_so(text, message):
    with pytest.raises(rs.StateError, match=message):
        unseal(text)


def test_a_cut_json_text_is_refused_at_any_length():
    text = to_json(_saved())
    for length in range(0, len(text) - 1, 997):
        with pytest.raises(rs.StateError):
            unseal(text[:length])


@pytest.mark.parametrize("state", [None, 7, [], b"{}", ("a",)], ids=label)
def test_what_is_no_dict_says_what_it_is(state):
    with pytest.raises(rs.StateError, match=f"this is a {type(state).__name__}"):
        unseal(state)


def test_a_newer_format_says_which_one_is_read():
    state = _saved() | {"format": 99}
    with pytest.raises(rs.StateError, match="has format 99; this version of reproseed reads format 1"):
        unseal(state)


def _equal(one: Any, other: Any) -> bool:
    """Whether two states have equal values and equal types, bit for bit."""
    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and one.shape == other.shape and one.tolist() == other.tolist()
    if isinstance(one, (np.ndarray, np.generic)):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, dict):
        return list(one) == list(other) and all(_equal(one[k], other[k]) for k in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(_equal, one, other))
    return one.hex() == other.hex() if isinstance(one, float) else one == other


FOREIGN = {
    "python": random.Random(3).getstate(),
    "numpy": np.random.RandomState(3).get_state(),
    "numpy dict": np.random.RandomState(3).get_state(legacy=False),
    "pcg64": np.random.default_rng(3).bit_generator.state,
    "sfc64": np.random.Generator(np.random.SFC64(3)).bit_generator.state,
    "torch": torch.Generator().get_state(),
    "int keys": {0: "a", 1: {"b": (1, 2, [3, None])}},
    "tagged by chance": {"tuple": [1], "dict": 3, "float": 0.5, "base64": "x", "tensor": b"x"},
    "floats": [0.1, float("inf"), -0.0, 5e-324],
    "scalars": [np.float32(0.1), np.int64(7), np.bool_(True), np.float64(0.5)],
    "empty": [torch.empty(0, 3), np.empty((2, 0)), (), [], {}, b"", ""],
    "tensors": [torch.tensor(0.5), torch.arange(6.0).reshape(2, 3).T, torch.tensor([True]), torch.ones(2).bfloat16()],
    "big": 2**200,
}


@pytest.mark.parametrize("route", ["direct", "torch", "json"])
@pytest.mark.parametrize("state", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_foreign_state_comes_back_as_it_was(state, route):
    plain: Any = {"state": encode(state)}
    if route == "torch":
        plain = seal(plain)
        file = io.BytesIO()
        torch.save(plain, file)
        file.seek(0)
        plain = torch.load(file)
    elif route == "json":
        plain = from_json(to_json(seal(plain)))
    from reproseed.state import _to_bytes

    assert _equal(decode(_to_bytes(plain["state"], "x")), state)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
        lambda inner: (
            st.lists(inner)
            | st.lists(inner).map(tuple)
            | st.dictionaries(st.text() | st.integers() | st.tuples(st.integers()), inner)
        ),
        max_leaves=12,
    )
)
def test_any_plain_state_comes_back_through_json(state):
    text = json.dumps(_jsonable(encode(state)))
    assert _equal(decode(_back(json.loads(text))), state)


def _jsonable(value: Any) -> Any:
    from reproseed.state import _jsonable

    return _jsonable(value)


def _back(value: Any) -> Any:
    from reproseed.state import _from_jsonable

    return _from_jsonable(value)


@pytest.mark.parametrize("state", [{1, 2}, object(), np.array([object()]), lambda: 0], ids=lambda s: type(s).__name__)
def test_a_foreign_state_of_another_kind_is_refused_by_its_type(state):
    with pytest.raises(rs.StateError, match=r"it holds a (set|object|ndarray|function); a checkpoint takes"):
        encode(state)
