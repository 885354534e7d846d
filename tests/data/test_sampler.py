"""`ElasticBatchSampler`: the same global batches for every number of ranks, and a place that is one number."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import BatchSampler, SequentialSampler, WeightedRandomSampler

import reproseed as rs
from reproseed.data import ElasticBatchSampler

TAILS = ["drop", "pad", "uneven", "carry"]


@pytest.fixture(autouse=True)
def a_run():
    return rs.init(master_seed=7)


def flat(batches):
    return list(itertools.chain.from_iterable(batches))


def epoch_of(sampler, epoch=0, task="train"):
    with rs.seeded(task=task, epoch=epoch):
        return [[int(i) for i in batch] for batch in sampler]


def union(n, size, world, epoch=0, prepare=lambda sampler: None, **options):
    """Return the global batches that the ranks of a world see together."""
    parts = []
    for rank in range(world):
        sampler = ElasticBatchSampler(n, size, rank=rank, world_size=world, **options)
        prepare(sampler)
        parts.append(epoch_of(sampler, epoch))
    steps = max(map(len, parts))
    return [flat(part[step] for part in parts if step < len(part)) for step in range(steps)]


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("n", [1003, 64, 5, 1])
def test_trap_18_every_world_sees_the_same_global_batches(n, tail):
    expected = [union(n, 32, 1, epoch, tail=tail) for epoch in range(2)]
    for world in (2, 4, 8, 16, 32):
        assert [union(n, 32, world, epoch, tail=tail) for epoch in range(2)] == expected


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize(("before", "after"), [(1, 4), (4, 2), (8, 1), (2, 4), (1, 2)])
def test_trap_18_another_world_goes_on_from_any_step(before, after, tail):
    expected = union(300, 32, before, tail=tail)
    for step in range(len(expected) + 1):
        assert union(300, 32, after, prepare=lambda s, at=step: s.seek(at), tail=tail) == expected[step:]


@pytest.mark.parametrize("step", [0, 3, 7])
def test_trap_18_another_global_batch_in_mid_epoch_takes_every_sample_once(step):
    first = ElasticBatchSampler(1003, 32, tail="uneven")
    seen = flat(epoch_of(first)[:step])
    saved = first.layout()
    second = ElasticBatchSampler(1003, 48, tail="uneven")
    second.seek(step, saved)
    then = epoch_of(second)
    assert sorted(seen + flat(then)) == list(range(1003))
    # And once more, from the middle of the changed epoch.
    second.seek(step, saved)
    with rs.seeded(task="train", epoch=0):
        next(iter(second))
        layout = second.layout()
    third = ElasticBatchSampler(1003, 16, tail="uneven")
    third.seek(step + 2, layout)
    assert flat(then[:2]) + flat(epoch_of(third)) == flat(then)


def test_trap_18_a_global_batch_that_the_ranks_cannot_share_raises():
    with pytest.raises(
        rs.CoordinateValueError, match=r"global_batch_size=33 cannot be shared out evenly over 4 ranks.*such as 32"
    ):
        ElasticBatchSampler(100, 33, rank=0, world_size=4)


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("tail", ["drop", "pad", "uneven"])
def test_trap_18_fewer_samples_than_a_batch(n, tail):
    sampler = ElasticBatchSampler(n, 4, tail=tail)
    got = epoch_of(sampler)
    assert len(got) == len(sampler) == (0 if n == 0 or tail == "drop" else 1)
    sizes = {"pad": [4], "uneven": [n], "drop": []}[tail] if n else []
    assert [len(batch) for batch in got] == sizes


def test_trap_18_carrying_over_loses_and_repeats_nothing():
    sampler = ElasticBatchSampler(10, 4, tail="carry")
    seen = []
    for epoch in range(6):
        batches = epoch_of(sampler, epoch)
        assert len(batches) == len(sampler)
        seen += flat(batches)
    assert [sorted(seen[10 * e : 10 * e + 10]) for e in range(6)] == [list(range(10))] * 6


def test_carried_samples_have_the_address_of_their_own_epoch():
    with rs.seeded(task="train", epoch=0):
        *_, last = ElasticBatchSampler(10, 4, tail="carry")
    assert [index.header.address["epoch"] for index in last] == [0, 0, 1, 1]


def test_trap_19_a_state_at_the_epochs_end_stands_before_the_next_epoch():
    sampler = ElasticBatchSampler(10, 4)
    epoch_of(sampler, 3)
    state = json.loads(json.dumps(sampler.state_dict(2)))
    later = ElasticBatchSampler(10, 4)
    later.load_state_dict(state)
    assert [[int(i) for i in batch] for batch in later] == epoch_of(sampler, 4)


@pytest.mark.parametrize("step", [0, 1, 2])
def test_a_state_is_plain_small_equal_on_all_ranks_and_loads_anywhere(step):
    states = []
    for rank in range(2):
        sampler = ElasticBatchSampler(12, 4, rank=rank, world_size=2)
        epoch_of(sampler, 5)
        states.append(json.dumps(sampler.state_dict(step)))
    assert states[0] == states[1]
    assert len(states[0]) < 400
    later = ElasticBatchSampler(12, 4)
    later.load_state_dict(json.loads(states[0]))
    assert json.dumps(later.state_dict() | {"world_size": 2}) == states[0]
    assert [[int(i) for i in batch] for batch in later] == epoch_of(ElasticBatchSampler(12, 4), 5)[step:]


def test_a_loaded_position_of_another_epoch_is_said_and_begins_at_the_first_step():
    sampler = ElasticBatchSampler(12, 4)
    expected = epoch_of(sampler, 6)
    epoch_of(sampler, 5)
    sampler.load_state_dict(sampler.state_dict(1))
    with pytest.warns(rs.ResumeWarning, match=r"is step 1 of \(epoch=5, task='train'\), but \(epoch=6, task='train'\)"):
        assert epoch_of(sampler, 6) == expected


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"data": 13}, "saved with n=12, this loader has n=13"),
        ({"tail": "pad"}, "saved with tail='drop', this loader has tail='pad'"),
        ({"shuffle": False}, "saved with order='permutation/1048576', this loader has order='sequential'"),
    ],
    ids=["data", "tail", "order"],
)
def test_a_state_of_another_order_is_refused(change, sentence):
    sampler = ElasticBatchSampler(12, 4)
    epoch_of(sampler)
    with pytest.raises(rs.StateMismatchError, match=sentence):
        ElasticBatchSampler(**({"data": 12, "global_batch_size": 4} | change)).load_state_dict(sampler.state_dict(1))


@pytest.mark.parametrize("name", ["format", "n", "tail", "step", "address"])
def test_a_damaged_state_is_named(name):
    sampler = ElasticBatchSampler(12, 4)
    epoch_of(sampler)
    state = sampler.state_dict(1)
    del state[name]
    with pytest.raises(rs.StateError, match=name):
        sampler.load_state_dict(state)


def test_row_18_a_per_rank_batch_on_other_ranks_names_the_global_batch_to_pass():
    saved = ElasticBatchSampler(1000, batch_size=64, rank=0, world_size=4).layout()
    fewer = ElasticBatchSampler(1000, batch_size=64, rank=0, world_size=2)
    times = "\N{MULTIPLICATION SIGN}"
    sentence = f"Saved global batch 256 (4 {times} 64), now 128 (2 {times} 64): pass global_batch_size=256."
    with pytest.raises(rs.StateMismatchError) as caught:
        fewer.seek(1, saved)
    assert str(caught.value) == sentence
    ElasticBatchSampler(1000, batch_size=128, rank=0, world_size=2).seek(1, saved)  # the same global batch
    ElasticBatchSampler(1000, 256, rank=0, world_size=2).seek(1, saved)


def test_trainers_find_what_they_look_for():
    sampler = ElasticBatchSampler(10, 4, rank=1, world_size=2, tail="uneven")
    assert isinstance(sampler, BatchSampler)
    assert (sampler.batch_size, sampler.drop_last, sampler.global_batch_size, len(sampler)) == (2, False, 4, 3)
    sampler.sampler.set_epoch(2)
    assert [int(i) for i in sampler.sampler] == [int(i) for batch in sampler for i in batch]


def test_a_scopes_epoch_wins_over_one_that_was_set():
    sampler = ElasticBatchSampler(10, 4)
    expected = epoch_of(sampler, 3)
    sampler.set_epoch(0, task="train")
    assert epoch_of(sampler, 3) == expected
    with rs.seeded(task="train"):  # no epoch of its own
        assert [[int(i) for i in batch] for batch in sampler] == epoch_of(sampler, 0)


def test_weights_are_an_order():
    weights = np.array([0, 0, 0.5, 0.5])
    sampler = ElasticBatchSampler(4, 2, order=lambda rng, n: rng.choice(n, 8, p=weights), num_samples=8)
    drawn = flat(epoch_of(sampler))
    assert len(drawn) == 8
    assert set(drawn) <= {2, 3}
    assert drawn == flat(epoch_of(sampler))
    assert drawn != flat(epoch_of(sampler, 1)) or drawn != flat(epoch_of(sampler, 2))
    assert union(4, 2, 2, order=lambda rng, n: rng.choice(n, 8, p=weights), num_samples=8) == epoch_of(sampler)


def test_a_torch_sampler_draws_at_the_epochs_address_and_is_shared_out():
    generator = torch.Generator()
    sampler = WeightedRandomSampler([1.0, 2.0, 3.0, 4.0], 8, generator=generator)
    whole = [union(4, 4, 1, epoch, order=sampler) for epoch in range(2)]
    assert whole[0] != whole[1]
    torch.rand(5, generator=generator)
    torch.rand(5)
    assert [union(4, 4, 2, epoch, order=sampler) for epoch in range(2)] == whole


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "takes global_batch_size= or batch_size=, exactly one"),
        ({"global_batch_size": 4, "batch_size": 2}, "takes global_batch_size= or batch_size=, exactly one"),
        ({"global_batch_size": 4, "tail": "wrap"}, "tail='wrap': allowed are 'drop', 'pad', 'uneven' and 'carry'"),
        ({"global_batch_size": 4, "rank": 1}, "pass rank= and world_size= together"),
        ({"global_batch_size": 4, "rank": 2, "world_size": 2}, "rank=2 is out of range"),
        ({"global_batch_size": 0}, "global_batch_size=0 is out of range"),
    ],
    ids=["none", "both", "tail", "rank", "range", "zero"],
)
def test_wrong_arguments_are_named(options, sentence):
    with pytest.raises(rs.ReproseedError, match=sentence):
        ElasticBatchSampler(8, **options)


def test_ranks_that_the_run_does_not_tell_apart_have_to_be_given():
    rs.init(master_seed=7, rank=1, world_size=4, coordinates={"dp": 0})
    with pytest.raises(rs.RankError, match=r"told apart by dp, not by the rank.*pass rank= and world_size="):
        epoch_of(ElasticBatchSampler(8, 4))
    assert epoch_of(ElasticBatchSampler(8, 4, rank=0, world_size=2))


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(0, 200),
    local=st.integers(1, 9),
    world=st.sampled_from([1, 2, 4]),
    tail=st.sampled_from(TAILS),
    data=st.data(),
)
def test_seeking_equals_reading_for_all_sizes(n, local, world, tail, data):
    rs.init(master_seed=7)
    if n == 0 and tail == "carry":
        n = 1
    expected = union(n, local * world, 1, tail=tail) if n else []
    step = data.draw(st.integers(0, len(expected)))
    if n:
        assert union(n, local * world, world, prepare=lambda s: s.seek(step), tail=tail) == expected[step:]


def test_address_keeps_a_samplers_own_order():
    with rs.seeded(task="train", epoch=0):
        marked = rs.data.address(BatchSampler(SequentialSampler(range(5)), 2, False))
        assert [[int(i) for i in b] for b in marked] == [[0, 1], [2, 3], [4]]
        assert [i.position for b in marked for i in b] == [0, 1, 2, 3, 4]
    assert len(marked) == 3
    assert marked.drop_last is False
