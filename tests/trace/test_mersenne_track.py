"""A tracker tells draws from seeding and from states put back, and counts words exactly."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reproseed.trace.generators import describe, state_of
from reproseed.trace.mersenne_track import State, Tracker, steps_between


def make(kind):
    if kind == "python":
        rng = random.Random(5)
        return rng, lambda n: [rng.getrandbits(32) for _ in range(n)], rng.getstate, rng.setstate, rng.seed
    if kind == "numpy":
        rng = np.random.RandomState(5)
        return rng, lambda n: rng.randint(0, 2**32, n, dtype=np.uint32), rng.get_state, rng.set_state, rng.seed
    rng = torch.Generator().manual_seed(5)
    draw = lambda n: torch.rand(n, generator=rng)  # noqa: E731 - one of three of a kind
    return rng, draw, rng.get_state, rng.set_state, rng.manual_seed


KINDS = pytest.mark.parametrize("kind", ["python", "numpy", "torch"])


@KINDS
@given(draws=st.lists(st.integers(0, 3000), min_size=1, max_size=6))
@settings(deadline=None, max_examples=25)
def test_words_are_counted_exactly(kind, draws):
    rng, draw, *_ = make(kind)
    tracker = Tracker()
    begin = tracker.begin(state_of(rng))
    total = 0
    for count in draws:
        draw(count)
        total += count
        now = tracker.locate(state_of(rng))
        assert (now.stream, now.words, now.back, now.found) == (begin.stream, total, 0, True)


@KINDS
@pytest.mark.parametrize("far", [10, 5000, 100_000])
def test_a_state_put_back_is_told_with_the_number_of_words(kind, far):
    rng, draw, get, put, _ = make(kind)
    tracker = Tracker()
    tracker.begin(state_of(rng))
    draw(700)
    kept = get()
    draw(far)
    tracker.locate(state_of(rng))
    put(kept)
    now = tracker.locate(state_of(rng))
    assert (now.words, now.back, now.found) == (700, far, True)


@KINDS
def test_a_seeded_generator_is_found_on_another_stream(kind):
    rng, draw, _, _, seed = make(kind)
    tracker = Tracker()
    first = tracker.begin(state_of(rng))
    draw(3)
    seed(6)
    now = tracker.locate(state_of(rng))
    assert now.stream != first.stream
    assert not now.found


def test_words_of_torch_count_from_its_seed():
    generator = torch.Generator().manual_seed(9)
    torch.rand(5000, generator=generator)
    assert Tracker().locate(state_of(generator)).words == 5000


def test_the_stream_around_a_scope_is_found_again_after_many_inside():
    rng, draw, get, put, seed = make("python")
    tracker = Tracker()
    outer = tracker.begin(state_of(rng))
    draw(20)
    kept = get()
    tracker.pin()
    for number in range(600):
        seed(number)
        tracker.begin(state_of(rng))
    put(kept)
    tracker.unpin()
    assert tracker.locate(state_of(rng))[:3] == (outer.stream, 20, 0)


def test_no_key_leads_to_a_key_of_another_seed():
    one, other = (state_of(random.Random(seed)) for seed in (1, 2))
    assert isinstance(one, State)
    assert isinstance(other, State)
    assert steps_between(one.key, other.key, 50) is None


@pytest.mark.parametrize(
    "generator",
    [random.Random(1), random.SystemRandom(), np.random.default_rng(1), np.random.RandomState(1), torch.Generator(),
     np.random.RandomState(np.random.PCG64(1))],
    ids=lambda g: type(g).__name__,
)  # fmt: skip
def test_any_generator_can_be_described_without_moving_it(generator):
    assert describe(generator) == describe(generator)


def test_a_cached_normal_counts():
    rng = random.Random(1)
    rng.gauss(0, 1)
    state = state_of(rng)
    assert isinstance(state, State)
    assert state.cached
