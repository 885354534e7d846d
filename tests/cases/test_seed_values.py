"""Cases of section E: seed values and derivation."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
import torch

import reproseed as rs
from reproseed.address import Address
from reproseed.errors import SeedRangeError
from reproseed.streams import Stream

LABELS = ("python", "numpy", "torch.cpu", "torch.cuda", "generator:x")


def draw():
    return random.random(), np.random.random_sample(), torch.rand(1, dtype=torch.float64).item()


def drawn(**keywords):
    with rs.seeded(**keywords, restore=True):
        return draw()


@pytest.mark.parametrize("master_seed", [-1, -2, 2**64, 10**30])
def test_case_27_a_seed_out_of_range_is_refused_with_the_range_before_anything_changes(master_seed):
    before = rs.snapshot()
    for attempt in (lambda: rs.init(master_seed), lambda: rs.seeded(master_seed=master_seed)):
        with pytest.raises(SeedRangeError, match=rf"master_seed={master_seed} is out of range; .*\[0, 2\*\*64\)"):
            attempt()
    assert before.moved() == []
    assert not rs.is_initialized()


def test_case_27_all_master_seeds_in_range_give_different_streams_in_every_library():
    masters = [
        0,
        1,
        2,
        5,
        2**31,
        2**31 + 1,
        2**32 - 1,
        2**32,
        2**32 + 1,
        2**32 + 5,
        2**63,
        2**64 - 5,
        2**64 - 2,
        2**64 - 1,
    ]
    for of_library in zip(*(drawn(master_seed=master) for master in masters), strict=True):
        assert len(set(of_library)) == len(masters)


def test_case_27_epochs_and_steps_far_beyond_32_bits_neither_fail_nor_wrap():
    numbers = [0, 1, 550_000, 2**32 - 1, 2**32, 2**32 + 1, 10**12, 2**63 - 1, -1, -(2**63)]
    for name in ("epoch", "step", "index"):
        for of_library in zip(*(drawn(master_seed=3, **{name: n}) for n in numbers), strict=True):
            assert len(set(of_library)) == len(numbers)


def test_case_29_zero_is_a_seed_and_a_coordinate_like_any_other():
    places = [
        {}, {"task": 0}, {"epoch": 0}, {"step": 0}, {"fold": 0}, {"task": 0, "epoch": 0}, {"task": "0"}, {"task": ""},
        {"task": 0, "epoch": 0, "step": 0}, {"shared": True}, {"shared": True, "task": 0},
    ]  # fmt: skip
    of_zero = [drawn(master_seed=0, **place) for place in places]
    assert of_zero == [drawn(master_seed=0, **place) for place in places]
    assert len(set(of_zero)) == len(places)
    assert not set(of_zero) & {drawn(master_seed=1, **place) for place in places}


def test_case_29_rank_0_is_a_rank():
    rs.init(0, rank=0, world_size=2)
    assert rs.get_master_seed() == 0
    private, shared = drawn(task=0, epoch=0), drawn(task=0, epoch=0, shared=True)
    assert private != shared
    assert rs.state_dict()["master_seed"] == 0


GRID = list(itertools.product(range(5), range(2), range(10), range(2), LABELS))


def seed_of(master, task, epoch, rank, label):
    return Stream(master, Address(task=task, epoch=epoch, rank=rank), label).seed(64)


def test_case_30_the_low_32_bits_are_distinct_and_balanced_bit_by_bit():
    seeds = [seed_of(*place) for place in GRID]
    low = np.array([seed % 2**32 for seed in seeds], dtype=np.uint32)
    assert len(GRID) == 1000
    assert len(set(low.tolist())) == 1000  # two of 1,000 coincide with a chance of one in 8,600
    for half in (low, np.array([seed >> 32 for seed in seeds], dtype=np.uint32)):
        ones = np.unpackbits(half.view(np.uint8).reshape(-1, 4), axis=1).mean(axis=0)
        assert (abs(ones - 0.5) < 0.08).all()  # five standard deviations
    ranks = {bit: [(seed_of(1, 0, epoch, 0, "python") >> bit) & 1 for epoch in range(64)] for bit in range(32)}
    assert all(0 < sum(column) < 64 for column in ranks.values()), "a low bit that no epoch changes"


def test_case_30_the_first_draws_of_torch_are_all_different():
    first = [
        torch.empty(1, dtype=torch.int64)
        .random_(generator=Stream(m, Address(t=t, e=e, r=r), label).torch_generator())
        .item()
        for m, t, e, r, label in GRID
    ]
    assert len(set(first)) == 1000
    # The control: seeds that differ in their high half alone draw alike through manual_seed.
    high = [torch.rand(1, generator=torch.Generator().manual_seed(7 + k * 2**32)).item() for k in range(4)]
    assert len(set(high)) == 1


def test_case_30_some_derived_seeds_are_constants():
    assert seed_of(0, 0, 0, 0, "python") == 11178138940420453157
    assert seed_of(1, 0, 0, 0, "torch.cpu") == 3487418755320589759
