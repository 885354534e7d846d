"""The permutation of an epoch: a bijection, uniform, frozen, and small in memory."""

from __future__ import annotations

import hashlib
import itertools
import json
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import reproseed as rs
from reproseed.address import Address
from reproseed.data.header import Header
from reproseed.data.order import BLOCK, THRESHOLD, Feistel, Listed, given_order, permutation
from reproseed.streams import Stream

GOLDEN = Path(__file__).parents[1] / "golden" / "order-1.json"


def stream(seed=42, **address):
    return Stream(seed, Address(**(address or {"task": "train", "epoch": 3})), "sample.order")


def test_trap_21_every_small_order_is_a_bijection():
    for n in range(1, 4097):
        indices = permutation(n, stream(epoch=n)).take(0, n)
        assert np.array_equal(np.sort(indices), np.arange(n)), n


@pytest.mark.parametrize("n", [*range(1, 40), 997, 8191, 8192, 8193, 65_537, 1_000_003])
def test_trap_21_the_computed_permutation_is_a_bijection_for_every_n(n):
    assert np.array_equal(np.sort(Feistel(n, stream()).take(0, n)), np.arange(n))


@pytest.mark.parametrize("n", [THRESHOLD - 1, THRESHOLD, THRESHOLD + 1])
def test_trap_21_the_threshold_divides_the_two_ways(n):
    order = permutation(n, stream())
    assert isinstance(order, Feistel if n > THRESHOLD else Listed)
    assert np.array_equal(np.sort(order.take(0, n)), np.arange(n))


def test_trap_21_the_orders_are_frozen():
    golden = json.loads(GOLDEN.read_text())
    assert (golden["threshold"], golden["derivation"], golden["rounds"]) == (THRESHOLD, 1, 6)
    for case in golden["orders"]:
        n = case["n"]
        order = permutation(n, stream())
        assert order.take(0, min(8, n)).tolist() == case["first"]
        assert order.take(max(n - 4, 0), n).tolist() == case["last"]
        if "sha256" in case:
            whole = order.take(0, n).astype("<i8").tobytes()
            assert hashlib.sha256(whole).hexdigest() == case["sha256"]


@pytest.mark.parametrize("n", [3, 4, 5])
def test_trap_21_small_orders_are_uniform(n):
    """The computed permutation is far from it at these sizes, which is why small ones are shuffled."""
    seen = Counter(tuple(permutation(n, stream(epoch=e)).take(0, n).tolist()) for e in range(6000))
    counts = [seen[p] for p in itertools.permutations(range(n))]
    assert scipy.stats.chisquare(counts).pvalue > 1e-4


def test_trap_21_the_computed_permutation_looks_like_a_shuffle():
    """Pairs at lags 1, 2, 3 and 1000 fill a grid evenly, and so do an epoch and the next."""
    n, cells = 1_100_003, 64
    one, other = (Feistel(n, stream(epoch=e)).take(0, n) * cells // n for e in (0, 1))
    for lag in (1, 2, 3, 1000):
        pairs = np.bincount(one[:-lag] * cells + one[lag:], minlength=cells**2)
        assert scipy.stats.chisquare(pairs).pvalue > 1e-4, lag
    across = np.bincount(one * cells + other, minlength=cells**2)
    assert scipy.stats.chisquare(across).pvalue > 1e-4


def test_trap_21_memory_does_not_grow_with_the_number_of_samples():
    def peak(n):
        order = permutation(n, stream())
        tracemalloc.start()
        for start in (0, n // 2, n - 64):
            order.take(start, start + 64)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    assert peak(10**11) < 1.5 * peak(2 * 10**6) < 4 * 2**20


@given(st.integers(1, 3 * BLOCK), st.data())
def test_any_range_is_a_slice_of_the_whole(n, data):
    start = data.draw(st.integers(0, n))
    stop = data.draw(st.integers(start, n))
    assert np.array_equal(Feistel(n, stream()).take(start, stop), Feistel(n, stream()).take(0, n)[start:stop])


@pytest.mark.parametrize(
    ("order", "sentence"),
    [
        ([0, 1, 2], r"order= gave int64 values of shape \(3,\); 4 integer indices are expected"),
        ([0.0, 1.0, 2.0, 3.0], "order= gave float64 values"),
        ([0, 1, 2, 4], "order= gave indices from 0 to 4; the data has samples 0 to 3"),
        (lambda rng, n: [-1, 0, 1, 2], "order= gave indices from -1 to 2"),
    ],
    ids=["length", "floats", "beyond", "negative"],
)
def test_a_wrong_order_is_named(order, sentence):
    header = Header(rs.Seeder(1), 1, Address(epoch=0))
    with pytest.raises(rs.CoordinateValueError, match=sentence):
        given_order(order, header, 4, 4)
