"""Traps 1 to 8 of data loading, and 28: epochs, start methods, iterators, and whose streams move."""

from __future__ import annotations

import contextlib
import copy
import gc
import pickle

import pytest
import torch
from sample_datasets import Failing, Flaky, InScopes, Noise, Owning, batches, collect, keep
from torch.utils.data import DataLoader

import reproseed as rs

# The machine that runs the tests may have fewer cores than a test has workers.
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")

PERSISTENT = {"num_workers": 2, "persistent_workers": True}


@pytest.fixture(autouse=True)
def a_run():
    return rs.init(master_seed=7)


def loader_over(dataset, batch_size=4, **options):
    return rs.data.seeded_loader(dataset, batch_size=batch_size, shuffle=True, collate_fn=keep, **options)


@pytest.mark.parametrize("prefetch", [1, 2, 4])
def test_trap_01_persistent_workers_hear_of_the_epoch_also_after_a_break(prefetch):
    fresh = collect(loader_over(Noise()))
    loader = loader_over(Noise(), prefetch_factor=prefetch, **PERSISTENT)
    with rs.seeded(task="train", epoch=0):
        iterator = iter(loader)
        first = next(iterator)
        del iterator
    second = {(1, i): tuple(d) for batch in batches(loader, epoch=1) for i, *d in batch}
    assert second == {key: drawn for key, drawn in fresh.items() if key[0] == 1}
    assert all(fresh[0, i] == tuple(d) for i, *d in first)
    assert {drawn for (e, _), drawn in fresh.items() if e == 0}.isdisjoint(second.values())


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_trap_02_every_start_method_takes_what_it_needs_by_pickling(method):
    reference = batches(loader_over(InScopes()))
    assert batches(loader_over(InScopes(), num_workers=1, multiprocessing_context=method)) == reference


@pytest.mark.parametrize("wrapper", ["SampleSeeded", "ElasticBatchSampler", "address", "seed_worker"])
def test_trap_02_the_wrappers_pickle(wrapper):
    made = {
        "SampleSeeded": lambda: rs.data.SampleSeeded(Noise()),
        "ElasticBatchSampler": lambda: rs.data.ElasticBatchSampler(8, 4),
        "address": lambda: rs.data.address(torch.utils.data.SequentialSampler(range(3))),
        "seed_worker": lambda: rs.data.seed_worker,
    }[wrapper]()
    assert type(pickle.loads(pickle.dumps(made))) is type(made)


@pytest.mark.parametrize("batch_size", [3, 4, 11, 20, None])
def test_trap_03_workers_and_batch_sizes_that_do_not_divide_change_no_draw(batch_size):
    reference = {(0, i): tuple(d) for batch in batches(loader_over(Noise(), 1)) for i, *d in batch}
    for workers in (0, 2):
        loader = rs.data.seeded_loader(
            Noise(),
            batch_size=batch_size,
            shuffle=True,
            num_workers=workers,
            collate_fn=None if batch_size is None else keep,
        )
        got = batches(loader)
        flat = got if batch_size is None else [sample for batch in got for sample in batch]
        assert {(0, i): tuple(d) for i, *d in flat} == reference
        assert [i for i, *_ in flat] == [i for _, i in reference]


def test_trap_04_out_of_order_workers_change_the_order_alone():
    reference = collect(loader_over(Noise(16), 1), epochs=1)
    loader = loader_over(Noise(16, jitter=0.01), 1, num_workers=3, in_order=False)
    assert collect(loader, epochs=1) == reference


def test_trap_05_an_iterator_belongs_to_the_epoch_of_its_first_batch():
    expected = collect(loader_over(Noise()), epochs=2)
    for workers in (0, 2):
        loader = loader_over(Noise(), num_workers=workers)
        with rs.seeded(task="train", epoch=0):
            one = iter(loader)
            early = next(one)
        with rs.seeded(task="train", epoch=1):
            other = iter(loader)
            second = [*next(other), *next(one)]  # two live iterators, and the first one's scope is gone
        with rs.seeded(task="eval", epoch=9):
            second += [*next(other)]
        assert all(expected[0, i] == tuple(d) for i, *d in (*early, *second[4:8]))
        assert all(expected[1, i] == tuple(d) for i, *d in (*second[:4], *second[8:]))


def test_trap_05_an_epoch_set_right_after_iter_counts():
    """Trainers make the iterator before they set the epoch."""
    expected = collect(loader_over(Noise()), epochs=2, task=3)
    loader = loader_over(Noise(), num_workers=2)
    loader.set_epoch(0, task=3)
    iterator = iter(loader)
    loader.set_epoch(1, task=3)
    assert all(expected[1, i] == tuple(d) for batch in iterator for i, *d in batch)


def test_trap_05_one_iterator_of_a_plain_loader_crosses_epochs():
    data = rs.data.SampleSeeded(Noise())
    expected = collect(loader_over(Noise()), epochs=2)

    class Cyclic(rs.data.ElasticBatchSampler):
        def __iter__(self):
            for epoch in range(2):
                with rs.seeded(task="train", epoch=epoch):
                    yield from list(super().__iter__())

    for workers in (0, 2):
        order = Cyclic(len(data), 11)
        seen = list(DataLoader(data, batch_sampler=order, num_workers=workers, collate_fn=keep))
        assert {(e, i): tuple(d) for e, batch in enumerate(seen) for i, *d in batch} == expected


@pytest.mark.parametrize("workers", [0, 2])
def test_trap_06_making_the_samplers_iterator_twice_has_no_effect(workers):
    order = rs.data.ElasticBatchSampler(11, 4)
    with rs.seeded(task="train", epoch=0):
        expected = list(order)
        iter(order), iter(order)
        assert list(order) == expected
    loader = rs.data.seeded_loader(Noise(), batch_size=None, shuffle=True, num_workers=workers)
    seen = [i for i, *_ in batches(loader)]
    assert sorted(seen) == list(range(11))
    loader.start_at(9)
    assert [i for i, *_ in batches(loader)] == seen[9:]
    assert [i for i, *_ in batches(loader)] == seen


@pytest.mark.parametrize("options", [{}, {"num_workers": 2}, PERSISTENT], ids=["0", "2", "2-persistent"])
@pytest.mark.parametrize("broken", [False, True], ids=["whole", "raises"])
def test_trap_07_the_main_process_streams_are_bytewise_untouched(options, broken):
    held = Owning()
    rs.register_generator(within=held)
    loader = loader_over(Failing() if broken else Noise(), **options)
    owning = loader_over(held, **options)
    with rs.seeded(task="train", epoch=0):
        before = rs.snapshot()
        with contextlib.suppress(ValueError) if broken else contextlib.nullcontext():
            for _ in loader:
                assert before.moved() == []
            assert not broken
        assert before.moved() == []
        for _ in owning:
            assert before.moved() == []
        gc.collect()
    assert before.moved() == []


class OnDevice(Noise):
    """Draws from a device, as a transform that runs there does: not one of the generators that the dataset holds."""

    device = None
    broken = False

    def __getitem__(self, index):
        type(self).device.draw()
        if self.broken and index == 5:
            raise ValueError("broken sample")
        return super().__getitem__(index)


@pytest.mark.parametrize("broken", [False, True], ids=["whole", "raises"])
def test_trap_07_the_devices_streams_are_bytewise_untouched_too(device, monkeypatch, broken):
    rs.init(master_seed=7)
    device.init()
    monkeypatch.setattr(OnDevice, "device", device)
    monkeypatch.setattr(OnDevice, "broken", broken)
    dataset = OnDevice()
    assert rs.sources.find_generators(dataset) == {}
    with rs.seeded(task="train", epoch=0):
        before, states = rs.snapshot(), device.states()
        with pytest.raises(ValueError, match="broken sample") if broken else contextlib.nullcontext():
            for _ in loader_over(dataset):
                assert device.states() == states
        assert device.states() == states
    assert before.moved() == []


@pytest.mark.parametrize("options", [{}, {"num_workers": 2}, PERSISTENT], ids=["0", "2", "2-persistent"])
def test_trap_07_loading_in_workers_never_touches_a_device(device, options):
    rs.init(master_seed=7)
    device.init()
    loader = loader_over(Noise(), **options)
    with rs.seeded(task="train", epoch=0):
        touched, states = device.touched, device.states()
        assert touched > 0
        for _ in loader:
            pass
        assert device.states() == states
        if options:
            assert device.touched == touched


@pytest.mark.parametrize("options", [{}, {"num_workers": 2}, PERSISTENT], ids=["0", "2", "2-persistent"])
def test_trap_08_an_evaluation_between_epochs_changes_nothing(options):
    expected = collect(loader_over(Noise()))
    train, other = loader_over(Noise(), **options), loader_over(Noise(5), **options)
    seen, streams = {}, []
    for epoch in range(3):
        with rs.seeded(task="train", epoch=epoch):
            seen |= {(epoch, i): tuple(d) for batch in train for i, *d in batch}
            before = rs.snapshot()
            with rs.seeded(task="eval"):
                first = list(other)
            with rs.seeded(task="eval"):
                assert list(other) == first
            streams.append(before.moved())
    assert seen == expected
    assert streams == [[], [], []]


def test_trap_23_copies_and_pickles_of_the_dataset_keep_the_epoch():
    """The epoch comes with the batch, so there is nothing that a copy could be cut off from."""
    expected = collect(loader_over(Noise()), epochs=2)
    data = rs.data.SampleSeeded(Noise())
    for copied in (copy.deepcopy(data), pickle.loads(pickle.dumps(data))):
        assert collect(loader_over(copied, **PERSISTENT), epochs=2) == expected


# torch's workers wait 5 seconds each where an error's traceback keeps their iterator from being freed at once.
@pytest.mark.parametrize(
    "options", [{}, pytest.param({"num_workers": 2}, marks=pytest.mark.slow)], ids=["0-workers", "2-workers"]
)
def test_trap_28_a_sample_that_is_retried_after_an_error_draws_the_same(options):
    expected = collect(loader_over(Noise()), epochs=1)
    data = Flaky()
    loader = loader_over(data, **options)
    with rs.seeded(task="train", epoch=0):
        with contextlib.suppress(ValueError):  # pytest.raises would keep the workers in its traceback
            list(loader)
            raise AssertionError("sample 3 did not raise")
        data.broken = False
        assert {(0, i): tuple(d) for batch in loader for i, *d in batch} == expected
