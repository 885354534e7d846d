"""Section G of the cases: contexts and decorators."""

from __future__ import annotations

import contextlib
import gc
import random

import numpy as np
import pytest
import torch
from labels import label

import reproseed as rs


@pytest.fixture
def run():
    return rs.init(master_seed=39)


def draws() -> tuple[float, ...]:
    return random.random(), float(np.random.random()), float(torch.rand(()))


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
@pytest.mark.parametrize("nested", [False, True])
def test_case_39_an_exception_in_the_body_leaves_all_states_as_before_entry(run, error, nested):
    draws()
    before, raised = rs.snapshot(), error("first")
    inner = rs.seeded(task="b", restore=True) if nested else contextlib.nullcontext()
    with pytest.raises(error) as caught, rs.seeded(task="a", restore=True), inner:  # noqa: PT012 - the body is the case
        draws()
        raise raised
    assert caught.value is raised
    assert rs.snapshot() == before


def test_case_39_a_failed_block_does_not_change_its_retry(run):
    def attempt(fail_after):
        with rs.seeded(task="work", restore=True):
            first = draws()
            for _ in range(fail_after):
                draws()
            if fail_after:
                raise ValueError
            return first

    clean = attempt(0)
    for n in (1, 5):
        with contextlib.suppress(ValueError):
            attempt(n)
        assert attempt(0) == clean


@pytest.mark.parametrize("bad", [{"task": 1.5}, {"epoch": True}, {"master_seed": -1}], ids=label)
def test_case_39_a_bad_seed_reseeds_nothing(run, bad):
    before = rs.snapshot()
    with pytest.raises(rs.ReproseedError), rs.seeded(**bad):
        pass
    assert rs.snapshot() == before


class Raising(random.Random):
    """A generator whose seeding or setting fails when told to."""

    fails: str | None = None

    def seed(self, *args, **keywords):
        if self.fails == "seed":
            raise OSError("seeding failed")
        return super().seed(*args, **keywords)

    def setstate(self, state):
        if self.fails == "setstate":
            raise OSError("setting failed")
        return super().setstate(state)


def test_case_39_a_generator_that_fails_in_the_middle_of_entry_changes_nothing(run):
    first, broken, last = random.Random(), Raising(), torch.Generator()
    for generator in (first, broken, last):
        rs.register_generator(generator)
    before = rs.snapshot()
    broken.fails = "seed"
    with pytest.raises(OSError, match="seeding failed"), rs.seeded(task="a"):
        pass
    broken.fails = None
    assert rs.snapshot() == before


def test_case_39_if_one_restore_fails_the_others_are_done(run):
    first, broken, last = random.Random(), Raising(), torch.Generator()
    for name, generator in (("first", first), ("broken", broken), ("last", last)):
        rs.register_generator(generator, name=name)
    before = rs.snapshot()
    with pytest.raises(OSError, match="setting failed"), rs.seeded(task="a", restore=True):  # noqa: PT012 - as above
        draws(), first.random(), torch.rand(1, generator=last)
        broken.fails = "setstate"
    assert before.moved() == ["broken"]


def test_case_41_a_decorated_generator_leaves_its_consumers_draws_alone(run):
    @rs.seeded(task="items")
    def items():
        yield draws()
        yield draws()

    before = rs.snapshot()
    expected = draws()
    before.restore()
    made = items()
    next(made)
    assert rs.snapshot() == before
    assert draws() == expected
    list(made)


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_case_41_scopes_open_across_yields_end_in_the_state_before_the_first(run, order):
    def items(task):
        with rs.seeded(task=task, restore=True):
            yield draws()
            yield draws()

    draws()
    before = rs.snapshot()
    made = {task: items(task) for task in "ab"}
    for one in made.values():
        next(one)
    if order == "ab":
        with pytest.warns(rs.ScopeOrderWarning, match="In a generator, decorate the function"):
            made["a"].close()
        made["b"].close()
    else:
        made["b"].close()
        made["a"].close()
    assert rs.snapshot() == before


def test_case_41_decorated_generators_close_in_any_order_without_a_word(run):
    @rs.seeded(task=rs.arg("task"))
    def items(task):
        yield draws()
        yield draws()

    before = rs.snapshot()
    a, b = items("a"), items("b")
    next(a), next(b)
    a.close(), b.close()
    assert rs.snapshot() == before


def test_case_42_neither_making_nor_decorating_acts(run):
    before = rs.snapshot()
    scope = rs.seeded(task=1)

    class Model:
        @scope
        def forward(self):
            return draws()

    @rs.seeded_epoch(task="train")
    def train(epoch):
        return draws()

    assert rs.snapshot() == before
    with pytest.warns(rs.UnenteredScopeWarning):  # noqa: PT031 - collecting it is what warns
        rs.seeded(task="init")
        gc.collect()
    assert rs.snapshot() == before
    assert Model().forward() == Model().forward()
    assert train(0) != train(1)


def test_case_42_one_instance_is_used_twice_and_recursively(run):
    scope = rs.seeded(task=1, restore=True)

    def recurse(depth):
        before = rs.snapshot()
        with scope:
            drawn = draws()
            if depth:
                assert recurse(depth - 1) == drawn
        assert rs.snapshot() == before
        return drawn

    assert recurse(3) == recurse(0)


def _fit(seed=0):
    """A library that seeds the process by a constant inside an innocent call."""
    np.random.seed(seed)
    random.seed(seed)
    torch.manual_seed(seed)
    return draws()


def test_case_43_trials_stay_distinct_and_reproducible_around_a_library_that_seeds(run):
    def trials():
        seen = []
        with rs.seeded(task="study", restore=True):
            for trial in range(5):
                with rs.current().at(trial=trial):
                    seen.append(draws())
                    _fit()
            seen.append(draws())
        return seen

    one = trials()
    assert len(set(one)) == 6
    assert trials() == one


def test_case_43_the_outer_stream_survives_a_foreign_seeding(run):
    def outer(fit):
        with rs.seeded(task="outer", restore=True):
            first = draws()
            with rs.seeded(task="trial"):
                if fit:
                    _fit()
            return first, draws()

    assert outer(True) == outer(False)


def test_case_43_steps_stay_distinct_although_every_body_is_reseeded(run):
    with rs.seeded(task="train", epoch=0):
        seen = []
        for _ in rs.steps(5):
            seen.append(draws())
            _fit()
    assert len(set(seen)) == 5


def test_case_43_without_a_scope_the_fault_is_there():
    seen = []
    with rs.preserved():
        for _ in range(5):
            seen.append(draws())
            _fit()
    assert len(set(seen)) == 2


@pytest.mark.parametrize("folds", [range(5), [4], range(4, -1, -1)], ids=["in a loop", "alone", "in reverse"])
def test_case_44_a_folds_draws_depend_on_the_fold_alone(run, folds):
    def fold(index):
        with rs.seeded(task="cv", fold=index):
            seen = [draws()]
            for epoch in range(2):
                with rs.seeded(task="train", epoch=epoch):
                    seen.extend(draws() for _ in rs.steps(2))
            return seen

    expected = {index: fold(index) for index in range(5)}
    assert len({draw for one in expected.values() for draw in one}) == 5 * 5
    rs.init(master_seed=39)
    for index in folds:
        assert fold(index) == expected[index]


@pytest.mark.parametrize("cached", [False, True])
def test_case_44_a_cached_step_does_not_change_the_next(run, cached):
    def step_three(skip):
        with rs.seeded(task="prepare"):
            if not skip:
                draws(), np.random.permutation(100)
        with rs.seeded(task="train"):
            return draws()

    assert step_three(cached) == step_three(not cached)
