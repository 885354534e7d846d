"""States that were seeded with a number are recognised, and others are not."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reproseed.testing.fresh import numpy_seed, python_seed, untwist

OTHER = [int(word) for word in np.random.MT19937(np.random.SeedSequence(1)).state["state"]["key"]]


def _key(state: np.random.RandomState) -> list[int]:
    return [int(word) for word in state.get_state()[1]]


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), words=st.integers(0, 2400))
def test_the_seed_of_numpys_generator_is_found(seed, words):
    state = np.random.RandomState(seed)
    state.bytes(4 * words)
    assert numpy_seed(_key(state), OTHER) == seed


@pytest.mark.parametrize("seed", [0, 1, 42, 1023, 1234, 3407])
@pytest.mark.parametrize("words", [0, 1, 700, 2400])
def test_a_usual_seed_of_pythons_generator_is_found(seed, words):
    generator = random.Random(seed)
    for _ in range(words):
        generator.getrandbits(32)
    assert python_seed(generator.getstate()[1][:624], OTHER) == seed


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), words=st.integers(0, 2400))
def test_a_state_that_came_from_the_known_one_was_not_seeded(seed, words):
    state = np.random.RandomState(seed)
    known = _key(state)
    state.bytes(4 * words)
    assert numpy_seed(_key(state), known) is None


@settings(deadline=None, max_examples=10)
@given(words=st.binary(min_size=2496, max_size=2496))
def test_any_other_state_is_not_taken_for_a_seeded_one(words):
    key = [int(word) for word in np.frombuffer(words, dtype="<u4")]
    assert numpy_seed(key, OTHER) is None
    assert python_seed(key, OTHER) is None


def test_untwist_is_the_inverse_of_a_regeneration():
    state = np.random.RandomState(9)
    before = _key(state)
    state.bytes(4 * 624)
    state.bytes(4)
    back = untwist(untwist(_key(state)))
    assert back[1:] == before[1:]
    assert back[0] >> 31 == before[0] >> 31
