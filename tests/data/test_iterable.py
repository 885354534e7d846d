"""`IterableSeeded`: an item's draws are the item's, whatever worker or rank makes it."""

from __future__ import annotations

import copy
import itertools
import pickle
import random

import pytest
import torch
from sample_datasets import Stream, batches, draws, keep

import reproseed as rs
from reproseed.data.iterable import SLOTS

# The machine that runs the tests may have fewer cores than a test has workers.
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


@pytest.fixture(autouse=True)
def a_run():
    return rs.init(master_seed=7)


def items(loader, epoch=0):
    got = {number: tuple(d) for batch in batches(loader, epoch=epoch) for number, *d in batch}
    assert len(got) == sum(map(len, batches(loader, epoch=epoch)))
    return got


def loader_over(source=None, batch_size=4, **options):
    return rs.data.seeded_loader(source or Stream(), batch_size=batch_size, collate_fn=keep, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"num_workers": 1},
        {"num_workers": 2},
        {"num_workers": 2, "persistent_workers": True},
        {"num_workers": 3, "batch_size": 1},
        {"batch_size": None},
    ],
    ids=["1", "2", "2-persistent", "3", "single"],
)
def test_trap_22_the_number_of_workers_changes_no_items_draws(options):
    expected = {epoch: items(loader_over(), epoch) for epoch in range(3)}
    assert len({number for drawn in expected.values() for d in drawn.values() for number in d}) == 3 * 33
    size = options.pop("batch_size", 4)
    options |= {"collate_fn": keep} if size else {}
    loader = rs.data.seeded_loader(Stream(), size, **options)
    for epoch in (0, 1, 2, 0):
        got = batches(loader, epoch=epoch)
        flat = [one for batch in got for one in batch] if size else got
        assert {n: tuple(d) for n, *d in flat} == expected[epoch]


def test_trap_22_ranks_share_the_items_out():
    expected = items(loader_over())
    seen = {}
    for rank in range(3):
        rs.init(master_seed=7, rank=rank, world_size=3)
        mine = items(loader_over(num_workers=2))
        assert not mine.keys() & seen.keys()
        seen |= mine
    assert seen == expected


@pytest.mark.parametrize("persistent", [False, True], ids=["fresh", "persistent"])
def test_trap_22_early_breaks_and_more_passes_than_the_log_holds(persistent):
    loader = loader_over(num_workers=1, persistent_workers=persistent)
    passes = SLOTS + 3 if persistent else 3
    for epoch in range(passes):
        with rs.seeded(task="train", epoch=epoch):
            iterator = iter(loader)
            next(iterator)
            del iterator
    assert items(loader, passes) == items(loader_over(), passes)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_trap_22_started_workers_hear_of_each_epoch(method):
    options = {"num_workers": 2, "persistent_workers": True, "multiprocessing_context": method}
    loader = loader_over(**options)
    for epoch in range(3):
        assert items(loader, epoch) == items(loader_over(), epoch)


def test_trap_05_an_epoch_set_right_after_iter_counts_for_streams_too():
    expected = items(loader_over(), 1)
    loader = loader_over(num_workers=2)
    loader.set_epoch(0, task="train")
    iterator = iter(loader)
    loader.set_epoch(1, task="train")
    assert {n: tuple(d) for batch in iterator for n, *d in batch} == expected


def test_trap_23_a_copy_is_a_dataset_of_its_own():
    data = rs.data.IterableSeeded(Stream())
    for copied in (copy.deepcopy(data), pickle.loads(pickle.dumps(data))):
        assert items(loader_over(copied, num_workers=1)) == items(loader_over())


def test_a_worker_that_was_not_told_of_its_pass_raises():
    loader = torch.utils.data.DataLoader(rs.data.IterableSeeded(Stream()), num_workers=1)
    with rs.seeded(task="train", epoch=0), pytest.raises(rs.ScopeError, match="was not told of pass 0"):
        list(loader)


def open_shard(name):
    return ((name, number, *draws()) for number in range(3))


SHARDS = ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(("world", "workers"), [(1, 2), (2, 0), (2, 2)])
def test_shards_are_dealt_out_by_a_common_seed_and_draw_by_their_own(world, workers):
    def seen(world, workers, epoch):
        got = []
        for rank in range(world):
            rs.init(master_seed=7, rank=rank, world_size=world)
            data = rs.data.IterableSeeded(open_shard, shards=SHARDS)
            got.append([s for b in batches(loader_over(data, 3, num_workers=workers), epoch=epoch) for s in b])
        return got

    for epoch in range(2):
        (whole,) = seen(1, 0, epoch)
        parts = seen(world, workers, epoch)
        assert sorted(itertools.chain.from_iterable(parts)) == sorted(whole)
        assert len({number for s in whole for number in s[2:]}) == 45
    orders = [[s[0] for s in seen(1, 0, epoch)[0] if s[1] == 0] for epoch in range(3)]
    assert len(set(map(tuple, orders))) > 1
    assert [sorted(order) for order in orders] == [SHARDS] * 3


def test_an_identity_of_ones_own_serves_a_source_that_splits_by_itself():
    data = rs.data.IterableSeeded([3, 1, 2], transform=lambda n: (n, random.random()), item_id=int, split=False)
    turned = rs.data.IterableSeeded([2, 3, 1], transform=lambda n: (n, random.random()), item_id=int, split=False)
    assert items(loader_over(data)) == items(loader_over(turned))


@pytest.mark.parametrize("workers", [0, 2])
def test_the_main_process_streams_are_untouched(workers):
    with rs.seeded(task="train", epoch=0):
        before = rs.snapshot()
        for _ in loader_over(num_workers=workers):
            assert before.moved() == []
    assert before.moved() == []


@pytest.mark.parametrize("workers", [0, 2])
def test_steps_resumes_a_stream_by_fetching(workers):
    def train(stop=None):
        seen = {}
        for epoch in rs.epochs(2):
            with rs.seeded(task="train", epoch=epoch):
                for step, batch in rs.steps(loader_over(num_workers=workers)):
                    seen[epoch, step] = batch
                    if stop == (epoch, step):
                        return seen, rs.state_dict()
        return seen, None

    expected, _ = train()
    rs.init(master_seed=7)
    seen, state = train(stop=(1, 1))
    rs.init(resume=state)
    rest, _ = train()
    assert seen | rest == expected


def test_another_number_of_workers_is_refused_in_mid_epoch():
    loader = loader_over(num_workers=2)
    loader.set_epoch(0)
    next(iter(loader))
    with pytest.raises(rs.StateMismatchError, match="saved with workers=2, this loader has workers=0"):
        loader_over().load_state_dict(loader.state_dict())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"shards": [1]}, "with shards=, the source is a callable"),
        ({"split": False}, "split=False needs item_id="),
        ({"rank": 1}, "pass rank= and world_size= together"),
    ],
    ids=["shards", "split", "rank"],
)
def test_wrong_arguments_are_named(options, sentence):
    with pytest.raises(rs.CoordinateTypeError, match=sentence):
        rs.data.IterableSeeded([1, 2], **options)
