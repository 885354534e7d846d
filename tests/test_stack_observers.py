"""What observers of the scope stack are told, and when."""

from __future__ import annotations

import random

import pytest

import reproseed as rs
from reproseed import stack


@pytest.fixture
def told():
    events = []

    def observe(event, entry):
        events.append((event, dict(entry.address), hash(random.getstate())))

    stack.observers.append(observe)
    yield events
    stack.observers.remove(observe)


def test_observers_hear_of_entry_steps_and_exit_in_order(told):
    rs.init(master_seed=1)
    with rs.seeded(task="train", epoch=0):
        for _ in rs.steps(1):
            random.random()
    where = {"task": "train", "epoch": 0}
    assert [(event, {k: v for k, v in at.items() if k not in where}) for event, at, _ in told] == [
        ("enter", {}),
        ("end", {}),
        ("at", {"phase": "iter"}),
        ("end", {"phase": "iter"}),
        ("at", {"phase": "fetch", "step": 0}),
        ("end", {"phase": "fetch", "step": 0}),
        ("at", {"step": 0}),
        ("end", {"step": 0}),
        ("at", {"phase": "fetch", "step": 1}),
        ("end", {"phase": "fetch", "step": 1}),
        ("at", {"phase": "after"}),
        ("leave", {"phase": "after"}),
    ]


def test_the_end_of_a_scope_is_told_before_its_streams_are_given_back(told):
    rs.init(master_seed=1)
    outside = hash(random.getstate())
    with rs.seeded(task="eval", restore=True):
        inside = hash(random.getstate())
    assert [(event, state) for event, _, state in told] == [("enter", inside), ("leave", inside)]
    assert hash(random.getstate()) == outside


def test_a_suspended_generator_leaves_and_enters_again(told):
    rs.init(master_seed=1)

    @rs.seeded(task="noise")
    def noise():
        yield random.random()
        yield random.random()

    list(noise())
    assert [event for event, _, _ in told] == ["enter", "leave", "enter", "leave", "enter", "leave"]
