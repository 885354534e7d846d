"""Snapshots: the states of all sources at one moment, compared, put back, and written in plain types."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest
import torch
from labels import label

import reproseed as rs
from reproseed.snapshots import Snapshot, put_back

DRAWS = {
    "python": random.random,
    "numpy": np.random.random_sample,
    "torch.cpu": lambda: torch.rand(1),
}


@pytest.mark.parametrize(("name", "draw"), DRAWS.items(), ids=DRAWS)
def test_it_names_the_source_that_moved_and_puts_it_back(name, draw):
    before = rs.snapshot()
    assert before.moved() == []
    first = draw()
    assert before.moved() == [name]
    assert before.differs(rs.snapshot()) == [name]
    before.restore()
    assert before.moved() == []
    assert before == rs.snapshot()
    assert draw() == first


@pytest.mark.parametrize(
    "draw", [lambda: random.gauss(0, 1), lambda: np.random.standard_normal(), lambda: torch.normal(0.0, 1.0, (1,))],
    ids=DRAWS,
)  # fmt: skip
def test_a_cached_normal_belongs_to_the_state(draw):
    draw()
    before = rs.snapshot()
    second = draw()
    assert len(before.moved()) == 1
    before.restore()
    assert draw() == second


def test_taking_and_restoring_draws_nothing():
    random.gauss(0, 1), np.random.standard_normal(), torch.normal(0.0, 1.0, (1,))
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    for _ in range(3):
        rs.snapshot().restore()
    assert random.getstate() == states[0]
    assert all(np.array_equal(one, other) for one, other in zip(np.random.get_state(), states[1], strict=True))
    assert torch.equal(torch.get_rng_state(), states[2])


def test_a_snapshot_is_unchanged_by_later_draws():
    before = rs.snapshot()
    plain = before.to_plain()
    random.random(), np.random.random_sample(700), torch.rand(700)
    assert before.to_plain() == plain


class Own:
    """Its states compare as ``kind`` makes them."""

    def __init__(self, kind):
        self.n, self.kind = 0, kind

    def seed(self, seed):
        self.n = seed

    def get_state(self):
        return self.kind(self.n)

    def set_state(self, state):
        self.n = state.value if isinstance(state, ByIdentity) else int(np.asarray(state).ravel()[0])


class ByIdentity:
    def __init__(self, value):
        self.value = value


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(lambda n: np.array([n, 1, 2]), id="array"),
        pytest.param(lambda n: torch.tensor([n, 1, 2]), id="tensor"),
        pytest.param(lambda n: (np.array([n, 1]),), id="array-in-tuple"),
        pytest.param(ByIdentity, id="object-that-compares-by-identity"),
    ],
)
def test_states_of_registered_objects_compare_by_value(kind):
    rs.init(1)
    own = Own(kind)
    rs.register_generator(own, name="own")
    before = rs.snapshot()
    assert before.moved() == []
    own.n += 1
    assert before.moved() == ["own"]
    before.restore()
    assert before.moved() == []


def test_a_source_that_only_one_of_two_snapshots_has_is_a_difference():
    rs.init(1)
    before = rs.snapshot()
    generator = random.Random()
    rs.register_generator(generator, name="late")
    assert before.differs(rs.snapshot()) == ["late"]
    assert rs.snapshot().differs(before) == ["late"]
    assert before != rs.snapshot()
    assert before != "a snapshot"


class Source:
    label, shared, restorable = "x", False, True

    def __init__(self, name, error=None, alive=True):
        self.name, self.error, self.alive, self.restored = name, error, alive, False

    def active(self):
        return self.alive

    def seed(self, stream):
        self.restored = stream

    def snapshot(self):
        return 0

    def restore(self, state):
        self.restored = True
        if self.error:
            raise self.error

    def to_plain(self, state):
        return {}

    def from_plain(self, plain):
        return 0


@pytest.mark.parametrize("error", [ValueError("broken"), KeyboardInterrupt(), SystemExit(3)], ids=label)
def test_each_source_is_put_back_even_if_an_earlier_one_raises_anything(error):
    sources = [Source("a"), Source("b", error), Source("c", RuntimeError("second")), Source("d")]
    with pytest.raises(type(error)) as caught:
        Snapshot(sources).restore()
    assert caught.value is error
    assert all(source.restored for source in sources)


def test_what_is_absent_now_is_not_restored_and_what_came_since_is_seeded():
    gone, came = Source("gone"), Source("came")
    snapshot = Snapshot([gone])
    gone.alive = False
    put_back(snapshot, [came], lambda: lambda source: f"stream of {source.name}")
    assert not gone.restored
    assert came.restored == "stream of came"


def test_it_does_not_leave_its_process():
    with pytest.raises(TypeError, match=r"belongs to its process; reproseed.state_dict\(\) is the form to save"):
        pickle.dumps(rs.snapshot())
    with pytest.raises(TypeError, match="unhashable"):
        hash(rs.snapshot())
    assert repr(rs.snapshot()) == "Snapshot(python, numpy, torch.cpu)"
