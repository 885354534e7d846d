"""Traps 9 to 17 and 23 to 27 of data loading: identities, wrappers, generators, collating, costs, frozen draws."""

from __future__ import annotations

import json
import pickle
import random
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from sample_datasets import (
    Batched,
    Caching,
    Noise,
    Owning,
    Plain,
    batches,
    collect,
    draws,
    keep,
    mixed,
)
from torch.utils.data import ConcatDataset, DataLoader, SequentialSampler, Subset

import reproseed as rs
from reproseed.address import Address
from reproseed.data.drawing import Drawing
from reproseed.data.header import Batch, Header, Index, here

# The machine that runs the tests may have fewer cores than a test has workers.
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")

GOLDEN = Path(__file__).parents[1] / "golden" / "sample-1.json"


@pytest.fixture(autouse=True)
def a_run():
    return rs.init(master_seed=7)


def drawn_at(index, master_seed=7, **address):
    header = Header(rs.Seeder(master_seed), master_seed, Address(**address))
    with Drawing(header) as drawing:
        drawing.at(header, index)
        return draws()


def test_trap_09_epochs_and_samples_never_share_a_key():
    keys = {
        Header(rs.Seeder(7), 7, Address(task=1, epoch=e)).fan("sample.python")(i, 16)
        for e in range(10)
        for i in range(1000)
    }
    assert len(keys) == 10_000


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"master_seed": 8, "task": 1, "epoch": 3}, {"master_seed": 7, "task": 1, "epoch": 4}),
        ({"task": 2, "epoch": 3}, {"task": 3, "epoch": 2}),
        ({"task": 1, "epoch": 3, "index": 4}, {"task": 1, "epoch": 4, "index": 3}),
        ({"task": "1", "epoch": 3}, {"task": 1, "epoch": 3}),
    ],
    ids=["seed+1", "task-epoch-swap", "epoch-index-swap", "text-number"],
)
def test_trap_09_neighbouring_keys_differ_in_all_libraries(one, other):
    first, second = drawn_at(one.pop("index", 0), **one), drawn_at(other.pop("index", 0), **other)
    assert not set(first) & set(second)


def test_trap_10_torch_keeps_32_bits_of_a_seed():
    """The documented limit of per-sample seeding, pinned so that a change in torch is noticed."""
    one = torch.rand(4, generator=torch.Generator().manual_seed(1))
    assert torch.equal(one, torch.rand(4, generator=torch.Generator().manual_seed(1 + 2**32)))


WRONG = [
    ("subset", lambda: Subset(rs.data.SampleSeeded(Noise()), range(4))),
    ("concat", lambda: ConcatDataset([rs.data.SampleSeeded(Noise(2)), rs.data.SampleSeeded(Noise(2))])),
]


@pytest.mark.parametrize("make", [make for _, make in WRONG], ids=[name for name, _ in WRONG])
def test_trap_11_a_wrapper_outside_raises_with_the_order_to_use(make):
    dataset = make()
    with rs.seeded(task="train", epoch=0):
        for loader in (
            DataLoader(dataset, batch_sampler=rs.data.ElasticBatchSampler(len(dataset), 2)),
            DataLoader(dataset, batch_size=2),
        ):
            with pytest.raises(rs.ScopeError, match=r"SampleSeeded\(Subset\(data, ...\)\).*not the other way round"):
                list(loader)


@pytest.mark.parametrize(
    "make", [lambda: Subset(Noise(), range(4)), lambda: ConcatDataset([Noise(4), Noise(4)])], ids=["subset", "concat"]
)
def test_trap_11_a_wrapper_inside_works(make):
    drawn = (
        collect(rs.data.seeded_loader(make(), batch_size=3, collate_fn=keep), epochs=1) if len(make()) == 4 else None
    )
    with rs.seeded(task="train", epoch=0):
        seen = [tuple(d) for batch in rs.data.seeded_loader(make(), batch_size=3, collate_fn=keep) for _, *d in batch]
    assert len({number for d in seen for number in d}) == 3 * len(make())
    assert drawn is None or list(drawn.values()) == seen


def a_batch():
    with rs.seeded(task="train", epoch=4):
        header = here()
    return Batch(Index(value, header, position) for position, value in enumerate((7, 3, 5)))


@pytest.mark.parametrize(
    "change",
    [
        lambda b: b[1:],
        lambda b: b + b[:1],
        lambda b: list(b[1:]) + b,
        lambda b: list(b),
        lambda b: pickle.loads(pickle.dumps(b)),
        lambda b: pickle.loads(pickle.dumps(list(b))),
    ],
    ids=["slice", "sum", "list-sum", "list", "pickle", "pickled-list"],
)
def test_trap_11_the_header_survives_what_trainers_do_to_a_batch(change):
    batch = a_batch()
    known = {int(index): index.position for index in batch}
    for index in change(batch):
        assert index.header == batch[0].header
        assert index.position == known[int(index)]
    data = rs.data.SampleSeeded(Noise())
    assert [i for i, *_ in data.__getitems__(change(batch))] == [int(i) for i in change(batch)]


def test_trap_11_a_batch_pickles_its_header_once():
    batch = a_batch()
    assert len(pickle.dumps(Batch(list(batch) * 20))) < 2 * len(pickle.dumps(batch)) + 1200


def test_trap_12_with_a_transform_whole_batches_are_read_and_draws_do_not_change():
    expected = {i: noise for batch in batches(with_transform(Plain())) for i, noise in batch}
    data = Batched()
    loader = with_transform(data)
    assert {i: noise for batch in batches(loader) for i, noise in batch} == expected
    assert data.reads == 3


def with_transform(dataset):
    data = rs.data.SampleSeeded(dataset, transform=lambda item: (item, draws()))
    return rs.data.seeded_loader(data, batch_size=4, collate_fn=keep)


def test_trap_12_without_one_the_batched_reads_are_not_used_and_that_is_said():
    with pytest.warns(rs.ReproseedWarning, match="Batched.__getitems__ reads a whole batch at once and is not used"):
        rs.data.SampleSeeded(Batched())


def test_trap_13_collating_draws_by_batch_and_epoch_for_any_number_of_workers():
    seen = {}
    for workers in (0, 1, 2):
        loader = rs.data.seeded_loader(Noise(), batch_size=4, num_workers=workers, collate_fn=mixed)
        seen[workers] = [drawn for epoch in range(2) for _, drawn in batches(loader, epoch=epoch)]
    assert seen[0] == seen[1] == seen[2]
    assert len({number for drawn in seen[0] for number in drawn}) == 18


@pytest.mark.parametrize("workers", [0, 2])
def test_trap_14_generators_that_the_dataset_holds_are_reseeded_for_each_sample(workers):
    expected = collect(rs.data.seeded_loader(Owning(), batch_size=1, collate_fn=keep), epochs=2)
    got = collect(rs.data.seeded_loader(Owning(), batch_size=3, collate_fn=keep, num_workers=workers), epochs=2)
    assert got == expected
    assert len({number for drawn in got.values() for number in drawn}) == 4 * 8 * 2


def test_trap_14_a_generator_that_is_not_found_is_named_by_the_user():
    hidden = random.Random(1)

    class Hidden(Plain):
        def __getitem__(self, index):
            return int(index), GLOBAL["rng"].random()

    GLOBAL["rng"] = hidden
    loaders = [
        rs.data.seeded_loader(rs.data.SampleSeeded(Hidden(), generators={"hidden": hidden}), size, collate_fn=keep)
        for size in (1, 4)
    ]
    assert collect(loaders[0]) == collect(loaders[1])


GLOBAL: dict[str, random.Random] = {}


@pytest.mark.parametrize("workers", [0, 2])
def test_trap_15_a_cache_of_augmented_values_is_not_covered(workers):
    """What a process keeps from the first epoch it hands out in later ones: cache before what draws, not after."""
    loader = rs.data.seeded_loader(
        Caching(), batch_size=2, num_workers=workers, persistent_workers=workers > 0, collate_fn=keep
    )
    seen = collect(loader)
    once = {index: len({seen[epoch, index] for epoch in range(3)}) for index in range(4)}
    assert all(count == 1 for count in once.values()) if workers == 0 else any(count < 3 for count in once.values())


@pytest.mark.parametrize(("address", "equal"), [("sample", True), ("position", False)])
def test_trap_16_a_repeated_index_draws_alike_by_sample_and_anew_by_position(address, equal):
    data = rs.data.SampleSeeded(Noise(4), address=address)
    loader = rs.data.seeded_loader(data, batch_size=2, order=[1, 3, 1, 1], collate_fn=keep)
    drawn = [tuple(d) for batch in batches(loader) for i, *d in batch if i == 1]
    assert len(drawn) == 3
    assert len(set(drawn)) == (1 if equal else 3)


@pytest.mark.parametrize("address", ["sample", "position"])
def test_trap_16_padding_repeats_too(address):
    data = rs.data.SampleSeeded(Noise(3), address=address)
    loader = rs.data.seeded_loader(data, batch_size=2, shuffle=True, tail="pad", collate_fn=keep)
    (first, *_), (_, last) = ([tuple(s) for s in batch] for batch in batches(loader))
    assert first[0] == last[0]
    assert (first == last) == (address == "sample")


def test_trap_16_a_key_function_keeps_a_samples_draws_in_another_split():
    names = [f"{i}.png" for i in range(8)]
    whole = rs.data.SampleSeeded(Noise(8), key_fn=names.__getitem__)
    part = rs.data.SampleSeeded(Subset(Noise(8), [6, 2]), key_fn=lambda i: names[[6, 2][i]])
    of_all, of_part = (
        {i: tuple(d) for batch in batches(rs.data.seeded_loader(d, 2, collate_fn=keep)) for i, *d in batch}
        for d in (whole, part)
    )
    assert of_part == {6: of_all[6], 2: of_all[2]}


def test_trap_17_no_rank_is_in_a_samples_draws_and_ranks_share_none():
    seen = []
    for rank in range(2):
        rs.init(master_seed=7, rank=rank, world_size=2)
        seen.append(collect(rs.data.seeded_loader(Noise(8), 2, shuffle=True, collate_fn=keep), epochs=1))
    assert not set(seen[0].values()) & set(seen[1].values())
    rs.init(master_seed=7, rank=0, world_size=1)
    assert seen[0] | seen[1] == collect(rs.data.seeded_loader(Noise(8), 2, shuffle=True, collate_fn=keep), epochs=1)


@pytest.mark.parametrize("workers", [0, 2])
def test_trap_24_a_sampler_that_slices_batches_keeps_the_draws(workers):
    """As Accelerate shares batches out: slices, and plain lists where it fills up the last one."""
    expected = collect(rs.data.seeded_loader(Noise(12), 4, shuffle=True, collate_fn=keep), epochs=1)

    class Sharded:
        def __init__(self, order, rank):
            self.order, self.rank = order, rank

        def __iter__(self):
            for batch in self.order:
                yield batch[2 * self.rank : 2 * self.rank + 1] + list(batch[2 * self.rank + 1 : 2 * self.rank + 2])

    data = rs.data.SampleSeeded(Noise(12))
    seen = {}
    with rs.seeded(task="train", epoch=0):
        for rank in range(2):
            sampler = Sharded(rs.data.ElasticBatchSampler(12, 4), rank)
            loader = DataLoader(data, batch_sampler=sampler, num_workers=workers, collate_fn=keep)
            seen |= {(0, i): tuple(d) for batch in loader for i, *d in batch}
    assert seen == expected


@pytest.mark.filterwarnings("ignore:.*pin_memory.*")
def test_trap_24_pinned_memory_changes_nothing():
    expected = batches(rs.data.seeded_loader(Noise(), 4, shuffle=True))
    for workers in (0, 2):
        got = batches(rs.data.seeded_loader(Noise(), 4, shuffle=True, pin_memory=True, num_workers=workers))
        assert all(torch.equal(a, b) for x, y in zip(expected, got, strict=True) for a, b in zip(x, y, strict=True))


def test_trap_24_a_sampler_of_the_users_carries_the_epoch_through_address():
    data = rs.data.SampleSeeded(Noise())
    expected = collect(rs.data.seeded_loader(Noise(), 4, collate_fn=keep))
    for workers in (0, 2):
        sampler = rs.data.address(SequentialSampler(data))
        assert collect(DataLoader(data, 4, sampler=sampler, num_workers=workers, collate_fn=keep)) == expected


def test_trap_25_no_device_is_seeded_on_the_way_to_a_sample(monkeypatch):
    def refuse(seed):
        raise AssertionError("torch.manual_seed seeds every device, and costs a hundred times as much")

    monkeypatch.setattr(torch, "manual_seed", refuse)
    assert len(collect(rs.data.seeded_loader(Noise(), 4, collate_fn=keep), epochs=1)) == 11


def test_trap_25_a_sample_costs_about_what_seeding_the_libraries_costs():
    """A guard against a slip, not the benchmark: benchmarks/data.py measures."""
    header = Header(rs.Seeder(7), 7, Address(task=1, epoch=0))
    generator = torch.default_generator

    def lean(key):
        random.seed(key)
        np.random.seed(key)
        generator.manual_seed(key)

    with Drawing(header) as drawing:
        ours = min(timed(lambda key: drawing.at(header, key)) for _ in range(30))
    floor = min(timed(lean) for _ in range(30))
    assert ours < 6 * floor


def timed(call):
    start = time.perf_counter()
    for key in range(50):
        call(key)
    return time.perf_counter() - start


def test_trap_26_the_first_draws_of_a_sample_are_frozen():
    golden = json.loads(GOLDEN.read_text())
    assert golden["derivation"] == 1
    for case in golden["samples"]:
        header = Header(rs.Seeder(case["master_seed"]), case["master_seed"], Address(**case["address"]))
        with Drawing(header) as drawing:
            drawing.at(header, case["sample"])
            found = {
                "python": random.getrandbits(32),
                "numpy": int(np.random.randint(0, 2**32, dtype=np.uint64)),
                "torch": int(torch.randint(0, 2**32, (), dtype=torch.int64)),
                "generator": int(rs.data.sample_rng().integers(0, 2**32)),
            }
        assert found == case["draws"], case


def test_trap_27_draws_are_equal_between_processes_where_reduced_floats_may_not_be():
    """Workers run with one thread, so a long sum may differ in its last bits; what was drawn does not."""
    expected = batches(rs.data.seeded_loader(Noise(4), 4, collate_fn=keep))
    assert batches(rs.data.seeded_loader(Noise(4), 4, collate_fn=keep, num_workers=1)) == expected


def test_sample_rng_goes_on_within_a_sample_and_is_refused_outside():
    class Own(Plain):
        def __getitem__(self, index):
            return int(index), rs.data.sample_rng().random(), rs.data.sample_rng().random()

    seen = collect(rs.data.seeded_loader(Own(), 4, collate_fn=keep))
    assert len({number for drawn in seen.values() for number in drawn}) == 2 * 33
    with pytest.raises(rs.ScopeError, match=r"sample_rng\(\) belongs to a sample that is being drawn"):
        rs.data.sample_rng()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"rngs": ("jax",)}, r"rngs=\('jax',\): allowed are 'python', 'numpy', 'torch'"),
        ({"address": "place"}, r"SampleSeeded\(address='place'\): allowed are 'sample' and 'position'"),
        ({"address": "position", "key_fn": str}, "takes key_fn= or address='position', not both"),
    ],
    ids=["rngs", "address", "both"],
)
def test_wrong_arguments_are_named(arguments, sentence):
    with pytest.raises(rs.CoordinateValueError, match=sentence):
        rs.data.SampleSeeded(Noise(), **arguments)


def test_only_the_chosen_libraries_are_seeded():
    data = rs.data.SampleSeeded(Noise(), rngs="torch")
    one, other = (collect(rs.data.seeded_loader(data, 4, collate_fn=keep), epochs=1) for _ in range(2))
    assert [drawn[2] for drawn in one.values()] == [drawn[2] for drawn in other.values()]


def test_attributes_of_the_dataset_are_reached_through_the_wrapper():
    assert rs.data.SampleSeeded(Noise(5)).n == 5
    with pytest.raises(AttributeError):
        _ = rs.data.SampleSeeded(Noise(5)).missing


def test_a_swapped_numpy_bit_generator_is_seeded_and_put_back():
    swapped = np.random.PCG64(3)
    own = np.random.mtrand._rand._bit_generator
    try:
        np.random.mtrand.set_bit_generator(swapped)
        one, other = (collect(rs.data.seeded_loader(Noise(), size, collate_fn=keep)) for size in (1, 4))
        assert one == other
        with rs.seeded(task="train", epoch=0):
            state = swapped.state
            list(rs.data.seeded_loader(Noise()))
            assert swapped.state == state
    finally:
        np.random.mtrand.set_bit_generator(own)
