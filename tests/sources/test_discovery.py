"""find_generators: wherever a generator hides, under a stable path, without running anybody's code."""

from __future__ import annotations

import collections
import dataclasses
import functools
import random
import types
from typing import NamedTuple

import numpy as np
import pytest
import torch
import wrapt

import reproseed as rs
from reproseed.sources import find_generators


class Flip:
    def __init__(self, rng=None):
        self.rng = rng or random.Random(0)

    def __call__(self, x):
        return self.rng.random()


class Slotted:
    __slots__ = ("a", "empty", "rng")

    def __init__(self):
        self.a, self.rng = 1, random.Random()


class SlottedChild(Slotted):
    __slots__ = ("more",)

    def __init__(self):
        super().__init__()
        self.more = np.random.default_rng()


@dataclasses.dataclass(slots=True)
class Data:
    rng: random.Random = dataclasses.field(default_factory=random.Random)


class Pair(NamedTuple):
    first: Flip
    second: torch.Generator


class OfClass:
    rng = random.Random(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Dropout(), torch.nn.Linear(2, 2)])
        self.layers[0].noise = torch.Generator()
        self.register_buffer("table", torch.zeros(3))
        self.rng = np.random.RandomState(0)


def closure():
    rng, count = random.Random(), 3

    def transform(x):
        return rng.random() * count

    return transform


def default(x, rng=random.Random(0), *, other=np.random.default_rng(0)):  # noqa: B008 - a generator in a default is the case
    return rng.random() + other.random()


def decorated():
    return rs.seeded(task="augment")(closure())


def counted():
    return functools.lru_cache(closure())


PLACES = {
    "attribute": (lambda: Flip(), ["rng"]),
    "itself": (lambda: random.Random(), [""]),
    "list": (lambda: [Flip(), 1, Flip()], ["[0].rng", "[2].rng"]),
    "nested tuple": (lambda: ([(torch.Generator(),)],), ["[0][0][0]"]),
    "dict": (lambda: {"a": Flip(), 3: Flip(), None: Flip()}, ["['a'].rng", "[3].rng", "[None].rng"]),
    "dict with objects as keys": (lambda: {object(): Flip(), (1, object()): Flip()}, ["[item 0].rng", "[item 1].rng"]),
    "defaultdict": (lambda: collections.defaultdict(list, a=Flip()), ["['a'].rng"]),
    "deque": (lambda: collections.deque([Flip()]), ["[0].rng"]),
    "UserList": (lambda: collections.UserList([Flip()]), ["data[0].rng"]),
    "namespace": (lambda: types.SimpleNamespace(flip=Flip()), ["flip.rng"]),
    "named tuple": (lambda: Pair(Flip(), torch.Generator()), ["[1]", "[0].rng"]),
    "slots": (Slotted, ["rng"]),
    "inherited slots": (SlottedChild, ["more", "rng"]),
    "dataclass with slots": (Data, ["rng"]),
    "class": (OfClass, ["rng"]),
    "module": (Net, ["rng", "layers.0.noise"]),
    "partial": (lambda: functools.partial(Flip(), 1, k=Flip()), ["func.rng", "keywords['k'].rng"]),
    "bound method": (lambda: Flip().__call__, ["__self__.rng"]),
    "closure": (closure, ["rng"]),
    "defaults": (lambda: default, ["__defaults__[0]", "__kwdefaults__['other']"]),
    "scope around a transform": (decorated, ["rng"]),
    "lru_cache": (counted, ["__wrapped__.rng"]),
    "dataset": (
        lambda: torch.utils.data.Subset(torch.utils.data.ConcatDataset([[Flip()], [Flip()]]), [0]),
        ["dataset.datasets[0][0].rng", "dataset.datasets[1][0].rng"],
    ),
    "sampler": (
        lambda: torch.utils.data.RandomSampler(range(3), generator=torch.Generator()),
        ["generator"],
    ),
}


@pytest.mark.parametrize(("make", "paths"), PLACES.values(), ids=PLACES)
def test_a_generator_is_found_under_its_path(make, paths):
    assert list(find_generators(make())) == paths


def test_every_kind_of_generator_is_found_and_the_processs_own_are_not():
    kinds = [torch.Generator(), np.random.default_rng(), np.random.RandomState(), random.Random()]
    own = [torch.default_generator, np.random.mtrand._rand, random._inst, random.random, np.random.rand, torch.rand]
    assert list(find_generators(kinds + own).values()) == kinds


def test_one_generator_in_two_places_is_found_once_under_the_shorter_path():
    rng = random.Random()

    class Owner:
        def __init__(self):
            self.deep = [[[Flip(rng)]]]
            self.rng = rng

    assert find_generators(Owner()) == {"rng": rng}


def test_two_generators_of_one_path_are_both_found():
    function = closure()
    function.rng = random.Random()
    assert list(find_generators(function)) == ["rng", "rng'"]


def test_cycles_end():
    one, other = Flip(), Flip()
    one.other, other.other, one.me = other, one, [one]
    assert list(find_generators(one)) == ["rng", "other.rng"]


def test_a_chain_as_long_as_the_limit_does_not_hide_what_is_near():
    far = chain = types.SimpleNamespace()
    for _ in range(19):
        far.next = types.SimpleNamespace()
        far = far.next
    flip = Flip()
    far.next = flip
    assert "flip.rng" in find_generators(types.SimpleNamespace(chain=chain, flip=flip))


def test_large_containers_and_arrays_are_left_alone():
    class Counting(list):
        def __iter__(self):
            raise AssertionError("walked")

    assert find_generators([Counting([Flip()] * 3)]) != {}
    assert find_generators({"data": [Flip()] * 100_000, "map": dict.fromkeys(range(2000), Flip())}) == {}
    assert find_generators([np.array([Flip()], dtype=object), torch.zeros(3), {1, 2}]) == {}


class Refuses:
    """Any look at it by ordinary means runs its code."""

    __slots__ = ("target",)
    __dict__ = property(lambda self: 1 / 0)

    def __getattribute__(self, name):
        raise AssertionError(f"{name} was asked for")

    @property
    def __class__(self):
        raise AssertionError("the class was asked for")

    @property
    def rng(self):
        raise AssertionError("a property was read")


class LazyDict(dict):
    def items(self):
        raise AssertionError("items was called")

    __len__ = __iter__ = keys = values = items


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: Refuses(), id="proxy-of-ones-own"),
        pytest.param(
            lambda: wrapt.LazyObjectProxy(lambda: 1 / 0),
            id="wrapt-lazy",
            marks=[] if hasattr(wrapt, "LazyObjectProxy") else pytest.mark.skip(reason="wrapt 2"),
        ),
        pytest.param(lambda: LazyDict(a=1), id="dict-subclass"),
        pytest.param(lambda: type("Odd", (), {"__module__": None})(), id="class-without-module"),
    ],
)
def test_nothing_is_run(make):
    assert find_generators([make()]) == {}
