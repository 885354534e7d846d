"""`watch_addresses`: one address entered twice in a run."""

from __future__ import annotations

import pytest

import reproseed as rs
from reproseed import entering
from reproseed.errors import CoordinateTypeError, RepeatedAddressWarning, ScopeError


def _enter(**coordinates):
    with rs.seeded(**coordinates):
        pass


@pytest.fixture(autouse=True)
def _run():
    rs.init(master_seed=1)


def test_a_second_entry_warns_with_both_places():
    with rs.testing.watch_addresses():
        _enter(task="train", epoch=0)
        _enter(task="train", epoch=1)
        with pytest.warns(RepeatedAddressWarning) as record, rs.seeded(task="train", epoch=0):
            pass
    message = str(record[0].message)
    assert message.startswith(f"(task='train', epoch=0) was entered at {__file__}:") or "was entered at" in message
    assert message.count(f"{__file__}:") == 2
    assert "both draw the same numbers" in message
    assert message.endswith("watch_addresses(allow=['train']).")


def test_mode_error_refuses_the_second_entry_before_anything_is_seeded():
    with rs.testing.watch_addresses("error"):
        _enter(task="train")
        before = rs.snapshot()
        with pytest.raises(ScopeError, match="was entered at"):
            _enter(task="train")
        assert before.moved() == []


def test_tasks_that_are_allowed_may_repeat():
    with rs.testing.watch_addresses("error", allow=["eval"]):
        for epoch in range(2):
            _enter(task="train", epoch=epoch)
            _enter(task="eval")


def test_steps_decorated_calls_and_preserved_sections_are_no_repeats():
    @rs.seeded_epoch(task="train")
    def train(epoch):
        for _, _ in rs.steps(2):
            with rs.preserved():
                pass
            with rs.preserved():
                pass

    with rs.testing.watch_addresses("error"):
        train(0)
        train(1)


def test_another_rank_or_seed_is_another_address():
    with rs.testing.watch_addresses("error"):
        _enter(task="train")
        _enter(task="train", shared=True)
        _enter(task="train", master_seed=2)


def test_it_ends():
    enter = entering.enter
    with rs.testing.watch_addresses("error"):
        assert entering.enter is not enter
    assert entering.enter is enter
    _enter(task="train")
    _enter(task="train")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"mode": "loud"}, r"watch_addresses\('loud'\): allowed are 'warn' and 'error'\."),
        ({"allow": "eval"}, r"allow='eval'\): a list of tasks is wanted, \['eval'\]\."),
    ],
    ids=["mode", "allow"],
)
def test_bad_arguments_are_told(arguments, sentence):
    with pytest.raises(CoordinateTypeError, match=sentence):
        rs.testing.watch_addresses(**arguments)


def test_a_generator_function_is_refused_when_called():
    @rs.testing.watch_addresses()
    def function():
        yield 1

    with pytest.raises(CoordinateTypeError, match="decorates plain functions only"):
        next(function())
