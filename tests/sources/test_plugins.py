"""Families that plug in through the entry-point group: the mechanism, Numba for real, CuPy on a stand-in."""

from __future__ import annotations

import os
import random
import sys
import types
from importlib.metadata import EntryPoint

import numpy as np
import pytest

import reproseed as rs
from reproseed.address import Address
from reproseed.errors import NotRestorableWarning, SourceError
from reproseed.sources import registry
from reproseed.streams import Stream


@pytest.fixture
def plug_in(monkeypatch):
    """Return a function that installs an entry point for a module, which counts as imported."""

    def install(name, value, module=None):
        monkeypatch.setattr(registry, "_plugins", lambda: (EntryPoint(name, value, registry.GROUP),))
        if module is not None:
            monkeypatch.setitem(sys.modules, name, module)

    return install


class Family:
    """A source as another package would bring it."""

    name = label = "family"
    shared, restorable = False, True
    here = True

    def __init__(self):
        self.rng = random.Random(0)

    def active(self):
        return self.here

    def seed(self, stream):
        self.rng.seed(stream.seed(64))

    def snapshot(self):
        return self.rng.getstate()

    def restore(self, state):
        self.rng.setstate(state)

    def to_plain(self, state):
        return {}

    def from_plain(self, plain):
        return None


@pytest.fixture
def family(plug_in):
    module = types.ModuleType("family")
    module.one = Family()
    module.make = lambda: module.one
    plug_in("family", "family:make")
    return module


def test_a_family_is_asked_for_once_its_module_has_been_imported(family, monkeypatch):
    rs.init(1)
    assert "family" not in rs.snapshot().states
    monkeypatch.setitem(sys.modules, "family", family)
    with rs.seeded(task="a", restore=True):
        drawn = family.one.rng.random()
    with rs.seeded(task="a", restore=True):
        assert family.one.rng.random() == drawn
    assert "family" in rs.snapshot().states


def test_a_family_that_is_not_active_is_left_alone(family, monkeypatch):
    monkeypatch.setitem(sys.modules, "family", family)
    family.one.here = False
    rs.init(1)
    state = family.one.rng.getstate()
    with rs.seeded(task="a"):
        assert family.one.rng.getstate() == state


def test_an_entry_point_that_fails_is_named_each_time(plug_in):
    rs.init(1)
    plug_in("broken", "nowhere_to_be_found:make", types.ModuleType("broken"))
    for _ in range(2):
        with pytest.raises(
            SourceError, match=r"entry point 'broken' of reproseed\.sources, nowhere_to_be_found:make, failed"
        ):
            rs.init(1)


def test_an_entry_point_that_gives_no_source_is_refused(plug_in):
    plug_in("odd", "builtins:dict", types.ModuleType("odd"))
    with pytest.raises(SourceError, match=r"entry point 'odd' of reproseed\.sources gave a dict, which is no Source"):
        rs.init(1)


# --- Numba ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def numba(plug_in):
    module = pytest.importorskip("numba", reason="numba is not installed")
    plug_in("numba", "reproseed.sources.numba:NumbaSource")
    return module


def test_numbas_generators_are_seeded_and_put_back_with_their_cached_normals(numba):
    @numba.njit
    def draw():
        return random.random(), random.gauss(0.0, 1.0), np.random.random(), np.random.standard_normal()

    rs.init(1)
    draw()
    before = rs.snapshot()
    expected = draw()
    before.restore()
    with rs.seeded(task="a", restore=True):
        inside = draw()
    with rs.seeded(task="b", restore=True):
        assert draw() != inside
    with rs.seeded(task="a", restore=True):
        assert draw() == inside
    assert draw() == expected
    assert before.moved() == ["numba"]


def test_numbas_draws_are_those_of_numpys_mersenne_twister_on_the_streams_words(numba):
    @numba.njit
    def words():
        return [random.getrandbits(32) for _ in range(5)], [np.random.random() for _ in range(5)]

    rs.init(1)
    with rs.seeded(task="a"):
        python, numpy = words()
    raw = Stream(1, Address(task="a", rank=0), "numba").bytes(2 * 2496)
    twin = np.random.RandomState()
    twin.set_state(("MT19937", np.frombuffer(raw[:2496], "<u4").astype(np.uint32), 624))
    assert list(python) == twin.randint(0, 2**32, 5, dtype=np.uint32).tolist()
    twin.set_state(("MT19937", np.frombuffer(raw[2496:], "<u4").astype(np.uint32), 624))
    assert list(numpy) == twin.random_sample(5).tolist()


def test_numbas_states_continue_from_a_checkpoint(numba):
    @numba.njit
    def draw():
        return random.gauss(0.0, 1.0), np.random.standard_normal()

    rs.init(1)
    draw()
    state = rs.state_dict()
    expected = draw()
    draw()
    rs.load_state_dict(state)
    assert draw() == expected


# --- CuPy -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def cupy(plug_in, monkeypatch):
    """What the source uses of CuPy: a state a device, made at first use, whose seeding needs that device current."""
    module, chosen = types.ModuleType("cupy"), []

    class Device:
        def __init__(self, index):
            self.index = index

        def __enter__(self):
            chosen.append(self.index)

        def __exit__(self, *error):
            chosen.pop()

    class RandomState:
        def __init__(self, device):
            self.device, self.seeds = device, []

        def seed(self, seed):
            assert chosen == [self.device], "seeded on another device than its own"
            self.seeds.append(seed)

    generator = types.ModuleType("cupy.random._generator")
    generator._random_states = {}
    module.cuda = types.SimpleNamespace(Device=Device)
    module.random = types.ModuleType("cupy.random")
    module.random._generator = generator
    module.make = lambda device: generator._random_states.setdefault(device, RandomState(device))
    monkeypatch.setitem(sys.modules, "cupy.random", module.random)
    monkeypatch.setitem(sys.modules, "cupy.random._generator", generator)
    plug_in("cupy", "reproseed.sources.cupy:CupySource", module)
    return module


def test_cupys_generators_are_never_made_and_seeded_where_they_exist(cupy):
    rs.init(1)
    with rs.seeded(task="a"):
        pass
    assert cupy.random._generator._random_states == {}
    one, other = cupy.make(0), cupy.make(1)
    with rs.seeded(task="a"):
        pass
    assert one.seeds == other.seeds == [Stream(1, Address(task="a", rank=0), "cupy").seed(32)]


def test_cupys_generators_are_seeded_again_where_a_scope_gives_back(cupy):
    rs.init(1)
    one = cupy.make(0)
    with rs.seeded(task="a"), pytest.warns(NotRestorableWarning, match="^cupy: "), rs.seeded(task="b"):
        pass
    outer, inner, again = one.seeds
    assert outer == again != inner


def test_cupys_generators_are_left_alone_in_a_forked_child(cupy):
    rs.init(1)
    inherited = cupy.make(0)
    rs.reseed(1)
    count = len(inherited.seeds)
    child = os.fork()
    if child == 0:
        rs.init(1)
        of_child = cupy.make(1)
        rs.reseed(1)
        os._exit(0 if (len(inherited.seeds), len(of_child.seeds)) == (count, 1) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
