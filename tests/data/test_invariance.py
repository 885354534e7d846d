"""One table: whatever the workers, batches and ranks are, each sample draws the same."""

from __future__ import annotations

import itertools

import pytest
from sample_datasets import Noise, collect, keep

import reproseed as rs

# The machine that runs the tests may have fewer cores than a test has workers.
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")

SIZE = 11
WORKERS, BATCHES, WORLDS = (1, 2, 4), (1, 4, 5), (1, 2, 4)


@pytest.fixture
def reference():
    rs.init(master_seed=5)
    return collect(rs.data.seeded_loader(Noise(SIZE), batch_size=1, shuffle=True, collate_fn=keep))


def over_ranks(world, batch, **options):
    """Return what all ranks of a world see together; each rank has a run and a loader of its own."""
    seen = {}
    for rank in range(world):
        rs.init(master_seed=5, rank=rank, world_size=world)
        loader = rs.data.seeded_loader(
            Noise(SIZE), global_batch_size=batch * world, shuffle=True, tail="uneven", collate_fn=keep, **options
        )
        mine = collect(loader)
        assert not mine.keys() & seen.keys()
        seen |= mine
    return seen


def test_the_reference_has_every_sample_once_an_epoch_and_all_draws_differ(reference):
    assert reference.keys() == set(itertools.product(range(3), range(SIZE)))
    numbers = [number for drawn in reference.values() for number in drawn]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize(("batch", "world"), list(itertools.product(BATCHES, WORLDS)))
def test_without_workers_batch_and_world_change_no_draw(reference, batch, world):
    assert over_ranks(world, batch) == reference


@pytest.mark.slow
@pytest.mark.parametrize("persistent", [False, True], ids=["fresh", "persistent"])
@pytest.mark.parametrize("workers", WORKERS)
def test_forked_workers_change_no_draw_for_any_batch_and_world(reference, workers, persistent):
    """The whole product for fork; spawn and forkserver, which import torch in each worker, get a covering subset."""
    for batch, world in itertools.product(BATCHES, WORLDS):
        options = {"num_workers": workers, "persistent_workers": persistent, "multiprocessing_context": "fork"}
        assert over_ranks(world, batch, **options) == reference, (batch, world)


# Every value of every column, each start method with each of them: 19 starts of a worker a method.
COVERING = [(1, False, 4, 1), (2, True, 5, 2), (4, True, 1, 1), (2, True, 4, 4)]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
@pytest.mark.parametrize(
    ("workers", "persistent", "batch", "world"),
    COVERING,
    ids=[f"{w}-workers-{'persistent' if p else 'fresh'}-batch-{b}-world-{n}" for w, p, b, n in COVERING],
)
def test_started_workers_change_no_draw(reference, method, workers, persistent, batch, world):
    options = {"num_workers": workers, "persistent_workers": persistent, "multiprocessing_context": method}
    assert over_ranks(world, batch, **options) == reference


@pytest.mark.parametrize(
    "options",
    [
        {"num_workers": 2},
        {"num_workers": 2, "persistent_workers": True},
        {"num_workers": 3, "prefetch_factor": 5, "in_order": False},
    ],
    ids=["fresh", "persistent", "out-of-order"],
)
def test_a_few_forked_workers_change_no_draw(reference, options):
    assert over_ranks(1, 4, **options) == reference
