"""Coordinates: what they may be, how they are named, and when two addresses are equal."""

from __future__ import annotations

import copy
import enum
import itertools
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reproseed.address import RESERVED, Address, check_names, check_value, integer
from reproseed.errors import CoordinateTypeError, CoordinateValueError

PARAMETERS = ("task", "epoch", "step", "master_seed", "shared", "restore")


class Phase(enum.IntEnum):
    TRAIN = 1


class Name(str):
    __slots__ = ()


class Index:
    def __index__(self) -> int:
        return 12


# --- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        pytest.param(0, 0, id="zero"),
        pytest.param(-(2**63), -(2**63), id="lowest"),
        pytest.param(2**63 - 1, 2**63 - 1, id="highest"),
        pytest.param(np.int8(-3), -3, id="numpy-int8"),
        pytest.param(np.uint64(7), 7, id="numpy-uint64"),
        pytest.param(np.array(5), 5, id="numpy-0d"),
        pytest.param(torch.tensor(5), 5, id="tensor-0d"),
        pytest.param(torch.tensor(5, dtype=torch.uint8), 5, id="tensor-uint8"),
        pytest.param(Phase.TRAIN, 1, id="int-enum"),
        pytest.param(Index(), 12, id="object-with-index"),
        pytest.param("", "", id="empty-text"),
        pytest.param("größe/学習 \U0001f600\0", "größe/学習 \U0001f600\0", id="unicode"),
        pytest.param(Name("train"), "train", id="str-subclass"),
        pytest.param(np.str_("train"), "train", id="numpy-str"),
    ],
)
def test_a_value_becomes_a_plain_int_or_str(value, plain):
    result = check_value("fold", value)
    assert result == plain
    assert type(result) in (int, str)
    assert Address(fold=value) == Address(fold=plain)


@pytest.mark.parametrize(
    ("value", "kind", "sentence"),
    [
        pytest.param(True, TypeError, "coordinate fold=True is a bool; allowed are an int or a str.", id="bool"),
        pytest.param(np.True_, TypeError, "is a bool; allowed", id="numpy-bool"),
        pytest.param(np.array(False), TypeError, "is a bool; allowed", id="numpy-0d-bool"),
        pytest.param(torch.tensor(True), TypeError, "is a bool; allowed", id="bool-tensor"),
        pytest.param(1.0, TypeError, "coordinate fold=1.0 is a float; allowed are an int or a str.", id="float"),
        pytest.param(float("nan"), TypeError, "fold=nan is a float", id="nan"),
        pytest.param(np.float64(1), TypeError, "is a float64", id="numpy-float"),
        pytest.param(torch.tensor(1.0), TypeError, "is a Tensor", id="float-tensor"),
        pytest.param(None, TypeError, "coordinate fold=None has no value; allowed", id="none"),
        pytest.param(b"train", TypeError, "is a bytes; allowed", id="bytes"),
        pytest.param((1, 2), TypeError, "is a tuple; allowed", id="tuple"),
        pytest.param(1j, TypeError, "is a complex; allowed", id="complex"),
        pytest.param(torch.arange(3), TypeError, r"coordinate fold is a Tensor of shape \(3,\)", id="tensor-1d"),
        pytest.param(torch.tensor([3]), TypeError, r"shape \(1,\); .* pass one element of it", id="tensor-one-element"),
        pytest.param(np.zeros((2, 2), int), TypeError, r"is a ndarray of shape \(2, 2\)", id="array"),
        pytest.param(torch.tensor(1, device="meta"), TypeError, "is a Tensor; allowed", id="meta-tensor"),
        pytest.param(
            2**63, ValueError, r"fold=9223372036854775808 is out of range; .*\[-2\*\*63, 2\*\*63\)", id="high"
        ),
        pytest.param(-(2**63) - 1, ValueError, "is out of range; allowed are integers", id="low"),
        pytest.param(10**30, ValueError, "is out of range", id="huge"),
        pytest.param(np.uint64(2**63), ValueError, "is out of range", id="numpy-uint64-high"),
        pytest.param("a\ud800", ValueError, "holds a lone surrogate; allowed is text that UTF-8", id="surrogate"),
    ],
)
def test_another_value_is_refused_naming_coordinate_value_and_what_is_allowed(value, kind, sentence):
    error = {TypeError: CoordinateTypeError, ValueError: CoordinateValueError}[kind]
    with pytest.raises(error, match=sentence) as caught:
        Address(fold=value)
    assert isinstance(caught.value, kind)
    assert "fold" in str(caught.value)


def test_a_count_is_no_text():
    with pytest.raises(CoordinateTypeError, match="steps='3' is a str; an int is wanted"):
        integer("steps", "3")


@pytest.mark.parametrize(("value", "high"), [(-1, None), (5, 5)], ids=["below", "at-the-end"])
def test_a_count_out_of_range_names_the_range(value, high):
    with pytest.raises(CoordinateValueError, match=f"n={value} is out of range; it must be at least 0"):
        integer("n", value, 0, high)


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("epcoh", "epoch"), ("epoc", "epoch"), ("epochs", "epoch"), ("Epoch", "epoch"), ("eposh", "epoch"),
        ("taks", "task"), ("tasks", "task"), ("Task", "task"), ("_task", "task"),
        ("stpe", "step"), ("steps", "step"),
        ("restor", "restore"), ("restored", "restore"), ("reztore", "restore"),
        ("share", "shared"), ("master_sed", "master_seed"), ("masterseed", "master_seed"),
        ("mater_seed", "master_seed"),
    ],
)  # fmt: skip
def test_a_misspelt_parameter_is_refused_with_the_right_spelling(wrong, right):
    with pytest.raises(CoordinateTypeError, match=f"call.*{wrong!r}; did you mean {right!r}"):
        check_names([wrong], PARAMETERS, "call()")


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_a_reserved_name_is_refused_with_its_reason(name):
    with pytest.raises(CoordinateTypeError, match=f"call.*{name!r} is no coordinate; ") as caught:
        check_names([name], PARAMETERS, "call()")
    assert RESERVED[name] in str(caught.value)


@pytest.mark.parametrize("name", ["fold", "trial", "mask", "layer", "dp", "tp", "x", "head_2", "stage", "replica"])
def test_a_name_of_ones_own_is_allowed(name):
    check_names([name], PARAMETERS, "call()")


@pytest.mark.parametrize(
    "name", ["", "my fold", "1st", "größe", "a-b", "x" * 70_000], ids=lambda name: name[:8] or "empty"
)
def test_a_name_that_is_no_ascii_identifier_is_refused(name):
    for attempt in (
        lambda: check_names([name], PARAMETERS, "call()"),
        lambda: Address(**{name: 1}),
        lambda: Address().extended(**{name: 1}),
    ):
        with pytest.raises(CoordinateTypeError, match=r"is not an ASCII identifier such as 'fold' or 'trial'"):
            attempt()


# --- equality ---------------------------------------------------------------------------------------------------------

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,11}", fullmatch=True)
values = st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
coordinates = st.dictionaries(names, values, max_size=6)


@given(coordinates, st.randoms(use_true_random=False))
def test_the_order_of_coordinates_does_not_matter(items, order):
    shuffled = list(items.items())
    order.shuffle(shuffled)
    assert Address(**items) == Address(**dict(shuffled))
    step_by_step = Address()
    for name, value in shuffled:
        step_by_step = step_by_step.extended(**{name: value})
    assert step_by_step == Address(**items)
    assert hash(step_by_step) == hash(Address(**items))
    assert list(step_by_step) == sorted(items)


@given(coordinates, coordinates)
def test_two_addresses_are_equal_exactly_if_their_coordinates_are(one, other):
    same = [(k, type(v), v) for k, v in sorted(one.items())] == [(k, type(v), v) for k, v in sorted(other.items())]
    assert (Address(**one) == Address(**other)) is same
    assert (Address(**one).encoded == Address(**other).encoded) is same


def test_addresses_that_a_careless_encoding_would_confuse_are_all_different():
    tricky = [
        {}, {"a": 0}, {"a": ""}, {"a": "0"}, {"a": 1}, {"a": "1"}, {"a": -1}, {"ab": "c"}, {"a": "bc"},
        {"a": "b", "c": ""},
        {"a": "", "b": ""}, {"a": "i"}, {"a": "s"}, {"ai": 0}, {"a": "\0"}, {"a": "\0\0"}, {"b": 0}, {"a": 0, "b": 0},
        {"a": 2**32}, {"a": 5, "b": 1}, {"a": 5 + 2**32}, {"a": 256}, {"A": 0}, {"epoch": 0}, {"task": 0},
    ]  # fmt: skip
    encodings = [Address(**one).encoded for one in tricky]
    assert len(set(encodings)) == len(tricky)
    # No encoding begins another, so a label after it cannot complete one to the other.
    assert not [(a, b) for a, b in itertools.permutations(encodings, 2) if b.startswith(a)]


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a))])
def test_a_copy_is_equal(clone):
    address = Address(task="train", epoch=3)
    assert clone(address) == address
    assert hash(clone(address)) == hash(address)


def test_an_address_is_a_mapping_that_cannot_be_changed():
    address = Address(task="train", epoch=3)
    assert dict(address) == {"epoch": 3, "task": "train"}
    assert address.without("epoch") == Address(task="train")
    assert repr(address) == "Address(epoch=3, task='train')"
    assert str(address) == "(epoch=3, task='train')"
    assert str(Address()) == "(the base stream)"
    with pytest.raises(AttributeError, match=r"immutable; use \.extended\(epoch=\.\.\.\)"):
        address.epoch = 4
    with pytest.raises(TypeError):
        address["epoch"] = 4
