"""The data package inside torchdata, and with albumentations and Gymnasium: each against the real framework."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

import reproseed as rs

HELPERS = str(Path(__file__).parents[1] / "data")
if HELPERS not in sys.path:
    sys.path.append(HELPERS)
from sample_datasets import Noise, batches, keep  # noqa: E402 - a module that workers can import

pytestmark = pytest.mark.integration

# Both change the environment where they are imported, which no test may do.
for _name in ("albumentations", "gymnasium"):
    with contextlib.suppress(ImportError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module(_name)


@pytest.fixture(autouse=True)
def a_run():
    return rs.init(master_seed=7)


# --- torchdata ----------------------------------------------------------------------------------------------------


def stateful(workers):
    torchdata = pytest.importorskip("torchdata.stateful_dataloader", reason="needs the extra torchdata")
    order = rs.data.ElasticBatchSampler(22, 4, tail="uneven")
    data = rs.data.SampleSeeded(Noise(22))
    return torchdata.StatefulDataLoader(data, batch_sampler=order, num_workers=workers, collate_fn=keep)


@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")
@pytest.mark.parametrize("workers", [0, 2])
def test_trap_24_torchdatas_loader_draws_the_same(workers):
    loader = stateful(workers)
    for epoch in range(2):
        expected = batches(rs.data.seeded_loader(Noise(22), 4, shuffle=True, collate_fn=keep), epoch=epoch)
        assert batches(loader, epoch=epoch) == expected


@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")
@pytest.mark.parametrize("workers", [0, 2])
def test_trap_24_torchdatas_loader_resumes_at_every_step(workers):
    expected = batches(rs.data.seeded_loader(Noise(22), 4, shuffle=True, collate_fn=keep), epoch=1)
    for stop in range(1, 6):
        loader = stateful(workers)
        with rs.seeded(task="train", epoch=1):
            iterator = iter(loader)
            for _ in range(stop):
                next(iterator)
            state = loader.state_dict()
            del iterator
        resumed = stateful(workers)
        resumed.load_state_dict(state)
        assert batches(resumed, epoch=1) == expected[stop:]


# --- albumentations -----------------------------------------------------------------------------------------------


class Pictures:
    """Augments plain pictures; a fingerprint stands for each."""

    def __init__(self, pipeline):
        self.pipeline = pipeline

    def __len__(self):
        return 16

    def __getitem__(self, index):
        picture = np.arange(16, dtype=np.uint8)[:, None, None] + np.full((16, 16, 3), index * 10, np.uint8)
        return index, hashlib.sha256(self.pipeline(image=picture)["image"].tobytes()).hexdigest()


def pipeline(bound):
    albumentations = pytest.importorskip("albumentations", reason="needs the extra albumentations")
    made = albumentations.Compose(
        [
            albumentations.HorizontalFlip(p=0.5),
            albumentations.OneOf([albumentations.Blur(p=1), albumentations.GaussNoise(p=1)], p=0.7),
            albumentations.Rotate(p=1),
        ],
        seed=3,
    )
    if not bound:
        return made
    from reproseed.integrations.albumentations import bind

    return bind(made)


@pytest.mark.filterwarnings("ignore")  # it asks the network for a newer version, and warns of its own end
@pytest.mark.parametrize("bound", [False, True], ids=["found", "bound"])
def test_trap_14_albumentations_draws_by_sample_for_any_number_of_workers(bound):
    def seen(workers, size):
        loader = rs.data.seeded_loader(Pictures(pipeline(bound)), size, num_workers=workers, collate_fn=keep)
        return {(e, i): h for e in range(2) for batch in batches(loader, epoch=e) for i, h in batch}

    expected = seen(0, 1)
    assert len(set(expected.values())) == 32
    for workers, size in ((0, 5), (1, 4), (2, 4)):
        assert seen(workers, size) == expected


@pytest.mark.filterwarnings("ignore")  # as above
def test_a_bound_pipeline_has_two_generators():
    assert sorted(rs.sources.find_generators(pipeline(True))) == ["py_random", "random_generator"]


# --- Gymnasium ----------------------------------------------------------------------------------------------------


def environment(**options):
    gymnasium = pytest.importorskip("gymnasium", reason="needs the extra gymnasium")
    from reproseed.integrations.gymnasium import SeededReset

    return SeededReset(gymnasium.make("CartPole-v1"), **options)


def episodes(env, count=3):
    got = []
    for _ in range(count):
        first, _ = env.reset()
        got.append((*first.tolist(), int(env.action_space.sample()), *env.step(0)[0].tolist()))
    return got


def test_an_episode_belongs_to_its_place_in_the_run():
    env = environment()
    with rs.seeded(task="train", epoch=0):
        first = episodes(env)
    with rs.seeded(task="train", epoch=1):
        other = episodes(env)
    with rs.seeded(task="train", epoch=0):
        assert episodes(environment()) == first
    assert len({*first, *other}) == 6


def test_ranks_play_apart_unless_shared():
    got = {}
    for rank in range(2):
        rs.init(master_seed=7, rank=rank, world_size=2)
        for shared in (False, True):
            with rs.seeded(task="train", epoch=0):
                got[rank, shared] = episodes(environment(shared=shared))
    assert got[0, False] != got[1, False]
    assert got[0, True] == got[1, True]


def test_a_seed_of_ones_own_is_passed_on():
    env = environment()
    assert np.array_equal(env.reset(seed=5)[0], env.env.reset(seed=5)[0])


# --- torchvision --------------------------------------------------------------------------------------------------


class LikeTorchvision:
    """A stand-in for torchvision.transforms.v2, which draws plainly from torch's global generator."""

    def __call__(self, picture):
        angle = float(torch.empty(1).uniform_(-10, 10))
        return picture * torch.randint(1, 5, ()), angle, bool(torch.rand(1) < 0.5), torch.randperm(4).tolist()


class Tensors(Noise):
    def __getitem__(self, index):
        return torch.full((2,), index)


@pytest.mark.parametrize("workers", [0, 2])
def test_transforms_that_draw_plainly_from_torch_need_no_adapter(workers):
    def seen(workers, size):
        data = rs.data.SampleSeeded(Tensors(12), LikeTorchvision())
        loader = rs.data.seeded_loader(data, size, num_workers=workers, collate_fn=keep)
        return [(p.tolist(), a, f, o) for batch in batches(loader) for p, a, f, o in batch]

    assert seen(workers, 4) == seen(0, 1)
    assert len({angle for _, angle, _, _ in seen(0, 3)}) == 12
