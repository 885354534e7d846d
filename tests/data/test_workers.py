"""What runs in a child: worker seeds, children of one's own, scopes in both."""

from __future__ import annotations

import multiprocessing
import random

import pytest
import torch
from sample_datasets import InScopes, Noise, Owning, Plain, batches, draws, keep
from torch.utils.data import DataLoader

import reproseed as rs
from reproseed import run

METHODS = ["fork", pytest.param("spawn", marks=pytest.mark.slow), pytest.param("forkserver", marks=pytest.mark.slow)]


@pytest.fixture(autouse=True)
def a_run():
    return rs.init(master_seed=7)


class Scoping(Plain):
    """Opens a scope in the worker."""

    def __getitem__(self, index):
        with rs.seeded(task="aug", epoch=0):
            return int(index), random.random()


class Address(Plain):
    """Tells where it stands."""

    def __getitem__(self, index):
        return dict(rs.current().address)


def seen_by(loader, epoch=0):
    with rs.seeded(task="train", epoch=epoch):
        return [[tuple(s) for s in batch] for batch in loader]


def plain_loader(dataset, **options):
    return DataLoader(dataset, 2, num_workers=2, worker_init_fn=rs.data.seed_worker, collate_fn=keep, **options)


def test_row_08_a_scope_in_a_plain_worker_names_what_to_do():
    loader = DataLoader(Scoping(4), num_workers=1, collate_fn=keep)
    with pytest.raises(rs.NotInitializedError, match="DataLoader worker 0 has no run") as caught:
        seen_by(loader)
    assert (
        "DataLoader worker 0 has no run: wrap the dataset in rs.data.SampleSeeded, or pass "
        "worker_init_fn=rs.data.seed_worker."
    ) in str(caught.value)


@pytest.mark.parametrize("method", METHODS)
def test_seed_worker_tells_ranks_workers_epochs_and_libraries_apart(method):
    numbers = []
    for rank in range(2 if method == "fork" else 1):
        rs.init(master_seed=7, rank=rank, world_size=2)
        loader = plain_loader(Noise(4), multiprocessing_context=method)
        for epoch in range(2 if method == "fork" else 1):
            numbers += [number for batch in seen_by(loader, epoch) for _, *d in batch for number in d]
    assert len(set(numbers)) == len(numbers)
    if method != "fork":
        assert numbers == [number for batch in seen_by(plain_loader(Noise(4))) for _, *d in batch for number in d]


def test_seed_worker_reseeds_what_the_dataset_holds():
    loader = plain_loader(Owning(4))
    seen = [number for epoch in range(2) for batch in seen_by(loader, epoch) for _, *d in batch for number in d]
    assert len(set(seen)) == len(seen) == 32


@pytest.mark.parametrize("method", METHODS)
def test_scopes_work_in_workers_and_a_samples_scopes_are_the_samples(method):
    expected = batches(rs.data.seeded_loader(InScopes(8), 3, collate_fn=keep))
    got = batches(rs.data.seeded_loader(InScopes(8), 3, collate_fn=keep, num_workers=1, multiprocessing_context=method))
    assert got == expected
    numbers = [number for batch in got for _, *d in batch for number in d]
    assert len(set(numbers)) == len(numbers)


def test_a_samples_scopes_leave_the_rank_out():
    seen = []
    for rank in range(2):
        rs.init(master_seed=7, rank=rank, world_size=2)
        seen += [s for batch in batches(rs.data.seeded_loader(InScopes(8), 2, collate_fn=keep)) for s in batch]
    rs.init(master_seed=7)
    whole = [s for batch in batches(rs.data.seeded_loader(InScopes(8), 2, collate_fn=keep)) for s in batch]
    assert sorted(seen) == whole


def test_the_current_scope_of_a_sample_is_its_address():
    assert batches(rs.data.seeded_loader(Address(2), 2, collate_fn=keep), epoch=3) == [
        [{"epoch": 3, "sample": 0, "task": "train"}, {"epoch": 3, "sample": 1, "task": "train"}]
    ]


def test_scopes_under_seed_worker_differ_between_workers():
    first, second = seen_by(plain_loader(Scoping(4)))
    assert first[0][1] == first[1][1] != second[0][1]


def child(queue, seed_child, number):
    seed_child(number)
    got = draws()
    with rs.seeded(task="inside"):
        queue.put((number, random.random(), *got))


def children(method, numbers=(0, 1, "a")):
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    made = [context.Process(target=child, args=(queue, rs.data.seed_child, number)) for number in numbers]
    for one in made:
        one.start()
    got = [queue.get(timeout=120) for _ in made]
    for one in made:
        one.join(60)
    queue.close()
    queue.join_thread()
    return {number: rest for number, *rest in got}


def test_seed_child_seeds_a_process_by_its_number_and_by_where_it_was_started():
    first = children("fork")
    assert children("fork") == first
    with rs.seeded(task="train", epoch=1):
        second = children("fork")
    numbers = [number for drawn in (*first.values(), *second.values()) for number in drawn[1:]]
    assert len(set(numbers)) == len(numbers) == 18
    inside = [drawn[0] for drawn in first.values()]
    assert inside == [second[number][0] for number in first]  # at an address of its own
    assert len(set(inside)) == 3


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_seed_child_draws_alike_for_every_start_method(method):
    assert children(method, (0, "a")) == children("fork", (0, "a"))


def test_seed_child_without_a_run_says_what_to_do(monkeypatch):
    monkeypatch.setattr(run, "_current", None)
    monkeypatch.setattr(run, "_parents", None)
    with pytest.raises(rs.NotInitializedError, match=r"rs\.data\.seed_child\(3\): this process knows of no run"):
        rs.data.seed_child(3)


class Info:
    id, num_workers, dataset, worker_method = 0, 1, None, "thread"


def test_workers_that_are_threads_are_refused(monkeypatch):
    """No option of torch starts them yet; the attribute that will tell is there already."""
    monkeypatch.setattr(torch.utils.data, "get_worker_info", Info)
    with rs.seeded(task="train", epoch=0), pytest.raises(rs.ScopeError, match="workers that are threads share"):
        list(rs.data.seeded_loader(Noise()))


def test_another_run_reaches_workers_that_live_on():
    loader = rs.data.seeded_loader(InScopes(4), 2, collate_fn=keep, num_workers=1, persistent_workers=True)
    batches(loader)
    rs.init(master_seed=8)
    assert batches(loader) == batches(rs.data.seeded_loader(InScopes(4), 2, collate_fn=keep))
