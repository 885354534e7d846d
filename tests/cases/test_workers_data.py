"""Reported trouble with workers and data: cases 1, 3, 4, 5, 7, 9, 19, 36, 38 and 60."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

import reproseed as rs

HELPERS = str(Path(__file__).parents[1] / "data")
if HELPERS not in sys.path:
    sys.path.append(HELPERS)
from sample_datasets import Noise, Owning, batches, collect, keep  # noqa: E402 - a module that spawned workers can import

# The machine that runs the tests may have fewer cores than a test has workers.
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")

STARTED = ["fork", pytest.param("spawn", marks=pytest.mark.slow), pytest.param("forkserver", marks=pytest.mark.slow)]


@pytest.fixture(autouse=True)
def a_run():
    return rs.init(master_seed=7)


def loader_over(dataset, batch_size=4, **options):
    return rs.data.seeded_loader(dataset, batch_size, collate_fn=keep, **options)


def by_library(loader, epochs=2):
    """Return for each library the numbers of each (epoch, batch); a worker makes one batch an epoch."""
    got = {}
    for epoch in range(epochs):
        for place, batch in enumerate(batches(loader, epoch=epoch)):
            for library in range(3):
                got.setdefault(library, {})[epoch, place] = tuple(sample[1 + library] for sample in batch)
    return got


@pytest.mark.parametrize("kind", ["seeded_loader", "seed_worker"])
def test_case_01_workers_and_epochs_draw_apart_and_runs_draw_alike(kind):
    def make():
        if kind == "seeded_loader":
            return loader_over(Noise(8), num_workers=2)
        return DataLoader(Noise(8), 4, num_workers=2, worker_init_fn=rs.data.seed_worker, collate_fn=keep)

    first = by_library(make())
    for drawn in first.values():
        assert len(set(itertools.chain(*drawn.values()))) == 16
    rs.init(master_seed=7)
    assert by_library(make()) == first


def test_case_03_persistent_workers_hear_of_the_epoch():
    fresh, persistent = (
        by_library(loader_over(Noise(8), num_workers=2, persistent_workers=p), 3) for p in (False, True)
    )
    assert fresh == persistent
    assert len({numbers for drawn in fresh.values() for numbers in drawn.values()}) == 18


def test_case_04_workers_of_all_ranks_draw_apart():
    numbers = []
    for rank in range(2):
        rs.init(master_seed=7, rank=rank, world_size=2)
        loader = DataLoader(Noise(8), 4, num_workers=2, worker_init_fn=rs.data.seed_worker, collate_fn=keep)
        numbers += [n for drawn in by_library(loader, 1).values() for batch in drawn.values() for n in batch]
    assert len(set(numbers)) == len(numbers) == 48


def test_case_05_the_number_of_workers_changes_no_sample():
    expected = collect(loader_over(Noise(12), 1))
    for workers in (0, 1, 2, 3):
        assert collect(loader_over(Noise(12), 3, num_workers=workers)) == expected


@pytest.mark.parametrize("method", STARTED)
def test_case_07_a_torch_generator_crosses_to_every_worker(method):
    data = Owning(4)
    expected = batches(loader_over(data, 2))
    assert batches(loader_over(data, 2, num_workers=1, multiprocessing_context=method)) == expected


class Holding(Owning):
    """Holds objects of the library as well."""

    def __init__(self, held):
        super().__init__(4)
        self.held = held


@pytest.mark.slow
def test_case_07_objects_of_the_library_cross_with_the_dataset():
    rs.register_generator(random.Random(1), name="own")
    held = [rs.seeded(task="a"), rs.get_master_seed(), rs.stream("x"), rs.state_dict(), rs.Seeder(3)]
    with held[0]:
        pass
    loader = loader_over(Holding(held), 2, num_workers=1, multiprocessing_context="spawn")
    assert batches(loader) == batches(loader_over(Owning(4), 2))


@pytest.mark.parametrize("method", STARTED[1:])
def test_case_09_every_start_method_gives_the_streams_of_fork(method):
    for worker_init in (None, rs.data.seed_worker):
        got = []
        for one in ("fork", method):
            if worker_init is None:
                loader = loader_over(Noise(4), 2, num_workers=2, multiprocessing_context=one)
            else:
                loader = DataLoader(
                    Noise(4), 2, num_workers=2, worker_init_fn=worker_init, collate_fn=keep, multiprocessing_context=one
                )
            got.append(by_library(loader, 1))
        assert got[0] == got[1]


@pytest.mark.parametrize("prefetch", [1, 4])
@pytest.mark.parametrize("persistent", [False, True], ids=["fresh", "persistent"])
def test_case_19_augmentation_in_workers_is_resumed_in_mid_epoch(prefetch, persistent):
    options = {"num_workers": 2, "prefetch_factor": prefetch, "persistent_workers": persistent, "shuffle": True}

    def run(stop=None):
        seen, loader = {}, loader_over(Noise(32), **options)
        for epoch in rs.epochs(2):
            with rs.seeded(task="train", epoch=epoch):
                for step, batch in rs.steps(loader):
                    seen[epoch, step] = batch
                    if stop == (epoch, step):
                        return seen, rs.state_dict()
        return seen, None

    expected, _ = run()
    rs.init(master_seed=7)
    seen, state = run(stop=(1, 4))
    rs.init(resume=state)
    rest, _ = run()
    assert seen | rest == expected
    assert min(rest) == (1, 5)


def orders(master_seed, epochs=3, register=True, world=2):
    parts = []
    for rank in range(world):
        rs.init(master_seed=master_seed, rank=rank, world_size=world)
        sampler = DistributedSampler(Noise(16), num_replicas=world, rank=rank)
        if register:
            rs.register_generator(sampler)
        mine = []
        for epoch in range(epochs):
            with rs.seeded(task="train", epoch=epoch):
                mine.append(tuple(sampler))
        parts.append(mine)
    return list(zip(*parts, strict=True))


def test_case_36_a_registered_distributed_sampler_gets_epoch_and_seed():
    assert len(set(orders(1, register=False))) == 1  # the trouble
    one, other = orders(1), orders(2)
    assert len({*one, *other}) == 6
    assert orders(1) == one
    for ranks in one:
        assert sorted(itertools.chain(*ranks)) == list(range(16))  # disjoint and complete


def test_case_36_its_order_is_resumed_and_no_step_changes_it():
    sampler = DistributedSampler(Noise(16), num_replicas=1, rank=0)
    rs.register_generator(sampler, name="order")
    with rs.seeded(task="train", epoch=2):
        expected = list(sampler)
        for step, index in rs.steps(sampler):
            assert index == expected[step]
            assert list(sampler) == expected
        state = rs.state_dict()
    again = DistributedSampler(Noise(16), num_replicas=1, rank=0)
    rs.init(master_seed=7)
    rs.register_generator(again, name="order")
    rs.load_state_dict(state)
    with rs.seeded(task="train", epoch=2):
        assert list(again) == expected


def test_case_38_a_samples_noise_does_not_depend_on_the_number_of_ranks():
    seen = []
    for world in (1, 2, 4):
        got = {}
        for rank in range(world):
            rs.init(master_seed=7, rank=rank, world_size=world)
            got |= collect(rs.data.seeded_loader(Noise(16), global_batch_size=4, shuffle=True, collate_fn=keep))
        seen.append(got)
    assert seen[0] == seen[1] == seen[2]
    assert len(seen[0]) == 48


class ByRandom:
    def __call__(self, item):
        return *item, random.random()


class ByGenerator:
    def __init__(self):
        self.rng = np.random.default_rng(0)

    def __call__(self, item):
        return *item, float(self.rng.random())


class ByPython:
    def __init__(self):
        self.rng = random.Random(0)

    def __call__(self, item):
        return *item, self.rng.random()


class Compose:
    def __init__(self, *transforms):
        self.transforms = transforms

    def __call__(self, item):
        for transform in self.transforms:
            item = transform(item)
        return item


class SetterOnly:
    """Takes a seed through a method of its own, as search libraries do."""

    def __init__(self):
        self._hidden = lambda: None
        self.reseed(0)

    def reseed(self, seed):
        state = {"n": seed}
        self._hidden = lambda: state.__setitem__("n", state["n"] * 6364136223846793005 % 2**61 + 1) or state["n"]

    def __call__(self, item):
        return *item, self._hidden()


def augmented(workers=0, epochs=2, start=0):
    setter = SetterOnly()
    transform = Compose(ByRandom(), ByGenerator(), ByPython(), ByGenerator(), ByPython(), setter)
    data = rs.data.SampleSeeded(Indices(8), transform, generators={"search": setter.reseed})
    loader = rs.data.seeded_loader(data, 4, num_workers=workers, collate_fn=keep, persistent_workers=workers > 0)
    return {epoch: batches(loader, epoch=epoch) for epoch in range(start, epochs)}


class Indices(Noise):
    def __getitem__(self, index):
        return (int(index),)


def test_case_60_transforms_of_every_make_draw_by_sample_epoch_and_own_name():
    expected = augmented()
    numbers = [n for got in expected.values() for batch in got for sample in batch for n in sample[1:]]
    assert len(set(numbers)) == len(numbers) == 2 * 8 * 6  # two equal transforms draw apart
    rs.init(master_seed=7)
    assert augmented(start=1)[1] == expected[1]
    assert augmented(workers=2) == expected


def test_case_60_registered_ones_follow_scopes_and_are_in_the_checkpoint():
    transform = Compose(ByGenerator(), ByPython(), ByGenerator())
    rs.register_generator(within=transform, name="augment")
    rs.register_generator(SetterOnly().reseed, name="search")
    with rs.seeded(task="train", epoch=0):
        first = transform(())
    with rs.seeded(task="train", epoch=0):
        assert transform(()) == first
    assert len(set(first)) == 3
    assert {"augment.transforms[0].rng", "augment.transforms[1].rng"} <= rs.state_dict()["snapshot"].keys()


RANKS = """
import sys, torch.distributed as dist
sys.path.append({helpers!r})
import reproseed as rs
from sample_datasets import Noise, keep
dist.init_process_group("gloo")
rs.init(master_seed=7)
state = rs.Seeder.from_json(open(sys.argv[1]).read()) if len(sys.argv) > 1 else None
if state:
    rs.init(resume=state)
loader = rs.data.seeded_loader(Noise(24), global_batch_size=8, shuffle=True, num_workers=1, collate_fn=keep)
mine = []
for epoch in rs.epochs(2):
    with rs.seeded(task="train", epoch=epoch):
        for step, batch in rs.steps(loader):
            mine.append((epoch, step, batch))
            if state is None and (epoch, step) == (0, 1) and {stop}:
                open({out!r}, "w").write(rs.Seeder.to_json(rs.run.current_seeder()))
                break
    if state is None and {stop}:
        break
every = [None] * dist.get_world_size()
dist.all_gather_object(every, mine)
if dist.get_rank() == 0:
    for parts in zip(*every):
        print("BATCH", parts[0][0], parts[0][1], sum((p[2] for p in parts), []))
dist.destroy_process_group()
"""


def torchrun(folder, world, stop=False, resume=False):
    out = str(folder / "state.json")
    script = folder / f"train_{world}_{stop}_{resume}.py"
    script.write_text("import reproseed.run\n" + RANKS.format(helpers=HELPERS, out=out, stop=stop))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(world)]
    command += [str(script), *([out] if resume else [])]
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [line for line in done.stdout.splitlines() if line.startswith("BATCH")]


@pytest.mark.slow
@pytest.mark.distributed
@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 4), (4, 1)])
def test_case_38_real_ranks_resume_on_another_number_of_ranks(tmp_path, before, after):
    rs.init(master_seed=7)
    expected = []
    loader = rs.data.seeded_loader(Noise(24), global_batch_size=8, shuffle=True, collate_fn=keep)
    for epoch in range(2):
        expected += [f"BATCH {epoch} {step} {batch}" for step, batch in enumerate(batches(loader, epoch=epoch))]
    first = torchrun(tmp_path, before, stop=True)
    then = torchrun(tmp_path, after, resume=True)
    assert first == expected[:2]
    assert then == expected[2:]
