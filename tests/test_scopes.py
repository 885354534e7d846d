"""Scopes: entry changes all or nothing, restore in every case, addresses, and what is said to whoever mistypes."""

# ruff: noqa: PT012, PT031 - a scope's body stands between what is entered and what is reported at its end
from __future__ import annotations

import contextlib
import gc
import random
import sys
import warnings

import numpy as np
import pytest
import torch
from labels import label

import reproseed as rs
from reproseed import stack


def draws(n: int = 2) -> tuple[object, ...]:
    """Draw from all three libraries."""
    return (
        tuple(random.random() for _ in range(n)),
        tuple(np.random.random(n).tolist()),
        tuple(torch.rand(n).tolist()),
    )


class Breaking:
    """A generator that raises at a chosen call of a chosen method."""

    def __init__(self, **raises: dict[int, BaseException]) -> None:
        self.raises, self.calls, self.state = raises, dict.fromkeys(("seed", "getstate", "setstate"), 0), 0

    def _called(self, method: str) -> None:
        self.calls[method] += 1
        error = self.raises.get(method, {}).get(self.calls[method])
        if error is not None:
            raise error

    def seed(self, seed: int) -> None:
        self._called("seed")
        self.state = seed

    def getstate(self) -> int:
        self._called("getstate")
        return self.state

    def setstate(self, state: int) -> None:
        self._called("setstate")
        self.state = state

    def arm(self, method: str, error: BaseException, at: int = 1) -> None:
        self.raises = {method: {self.calls[method] + at: error}}


@pytest.fixture
def run():
    return rs.init(master_seed=11)


# --- entry ----------------------------------------------------------------------------------------------------


BAD_VALUES = [1.5, True, None.__class__, [1], torch.tensor([1, 2]), torch.tensor(True), np.float64(1), 2**63, "\ud800"]


@pytest.mark.parametrize("value", BAD_VALUES, ids=label)
@pytest.mark.parametrize("name", ["task", "epoch", "step", "fold"])
def test_a_bad_coordinate_is_named_and_changes_nothing(run, name, value):
    before = rs.snapshot()
    with pytest.raises((rs.CoordinateTypeError, rs.CoordinateValueError), match=f"coordinate {name}"):
        rs.seeded(**{name: value})
    assert rs.snapshot() == before
    assert stack.innermost() is None


@pytest.mark.parametrize("value", [0, np.int64(0), torch.tensor(0)], ids=["int", "numpy", "torch"])
def test_zero_is_a_value_and_integer_likes_become_ints(run, value):
    with rs.seeded(task="t", epoch=value) as scope:
        assert dict(scope.address) == {"task": "t", "epoch": 0}
        assert type(scope.address["epoch"]) is int
        with_epoch = draws()
    with rs.seeded(task="t"):
        assert draws() != with_epoch


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(3), GeneratorExit()], ids=label)
@pytest.mark.parametrize("method", ["seed", "getstate"])
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("depth", [0, 1])
def test_an_entry_that_fails_changes_nothing_and_raises_that_error(run, method, error, place, depth):
    generators = [random.Random(), Breaking(), torch.Generator()]
    broken = Breaking()
    generators.insert(place, broken)
    for index, generator in enumerate(generators):
        rs.register_generator(generator, name=f"g{index}")
    with contextlib.ExitStack() as around:
        for level in range(depth):
            around.enter_context(rs.seeded(task="outer", epoch=level))
        draws()
        before, top = rs.snapshot(), stack.innermost()
        broken.arm(method, error)
        with pytest.raises(type(error)) as caught, rs.seeded(task="inner"):
            pytest.fail("the body ran")
        broken.raises = {}
        assert caught.value is error
        assert rs.snapshot() == before
        assert stack.innermost() is top


@pytest.mark.parametrize("call", [1, 2, 3])
def test_a_callable_that_raises_at_entry_leaves_the_rest_as_it_was_and_is_seeded_for_the_scope_around(run, call):
    seeds: list[list[int]] = [[], [], []]
    failing: list[int] = []

    def make(index):
        def seed(value):
            if index + 1 in failing:
                failing.clear()
                raise OSError("device lost")
            seeds[index].append(value)

        return seed

    for index in range(3):
        rs.register_generator(make(index), name=f"f{index}")
    base = [s[-1] for s in seeds]
    before = rs.snapshot()
    failing.append(call)
    with (
        pytest.warns(rs.NotRestorableWarning, match=r"f0, f1, f2: a callable can be seeded, not read"),
        pytest.raises(OSError, match="device lost"),
        rs.seeded(task="inner"),
    ):
        pytest.fail("the body ran")
    assert rs.snapshot() == before
    assert [s[-1] for s in seeds] == base


def test_a_warning_made_an_error_at_entry_changes_nothing(run):
    state = None
    for epoch in rs.epochs(3):
        with rs.seeded(task="train", epoch=epoch):
            for step, _ in rs.steps(3):
                if epoch == 1 and step == 1:
                    state = rs.state_dict()
    rs.init(master_seed=11, resume=state)
    before = rs.snapshot()
    with pytest.raises(rs.ResumeWarning, match="epoch 0 was entered"), rs.seeded(task="train", epoch=0):
        pytest.fail("the body ran")
    assert rs.snapshot() == before
    assert stack.innermost() is None


def test_constructing_and_decorating_change_nothing(run):
    before = rs.snapshot()
    scope = rs.seeded(task=1)

    class Model:
        @rs.seeded(task=2)
        def forward(self):
            return random.random()

        @scope
        def other(self):
            return random.random()

    rs.seeded_epoch(task=3)(lambda epoch: epoch)
    assert rs.snapshot() == before
    assert Model().forward() == Model().forward()


# --- restore --------------------------------------------------------------------------------------------------

ERRORS = [ValueError, KeyboardInterrupt, GeneratorExit, SystemExit, StopIteration]


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_every_exception_restores_and_comes_through_unchanged(run, error, depth):
    mine = random.Random(3)
    rs.register_generator(mine, name="mine")
    draws()
    before = rs.snapshot()
    raised = error("body")
    with pytest.raises(error) as caught, contextlib.ExitStack() as scopes:
        for level in range(depth):
            scopes.enter_context(rs.seeded(task="t", epoch=level, restore=True))
            draws(), mine.random(), np.random.normal()
        raise raised
    assert caught.value is raised
    assert rs.snapshot() == before


def test_a_failing_inner_scope_gives_the_outer_one_its_streams(run):
    with rs.seeded(task="outer"):
        first = draws()
        with contextlib.suppress(ValueError), rs.seeded(task="inner"):
            draws()
            raise ValueError
        second = draws()
    with rs.seeded(task="outer"):
        assert (first, second) == (draws(), draws())


@pytest.mark.parametrize("place", [0, 1])
def test_a_restore_that_fails_does_the_others_and_keeps_the_bodys_error_as_context(run, place):
    broken, others = Breaking(), [random.Random(1), torch.Generator()]
    names = ["a", "b"]
    names.insert(place, "broken")
    for name, generator in zip(names, [*others[:place], broken, *others[place:]], strict=True):
        rs.register_generator(generator, name=name)
    before = rs.snapshot()
    body = ValueError("body")
    with pytest.raises(OSError, match="setter") as caught, rs.seeded(task="x", restore=True):
        draws(), others[0].random(), torch.rand(1, generator=others[1])
        broken.arm("setstate", OSError("setter"))
        raise body
    assert caught.value.__context__ is body
    assert before.moved() == ["broken"]
    assert stack.innermost() is None


def test_of_several_failing_restores_all_are_tried(run):
    one, two = Breaking(), Breaking()
    rs.register_generator(one, name="one")
    rs.register_generator(two, name="two")
    python = random.getstate()
    with pytest.raises(KeyboardInterrupt), rs.seeded(task="x", restore=True):
        one.arm("setstate", KeyboardInterrupt())
        two.arm("setstate", OSError())
    assert (one.calls["setstate"], two.calls["setstate"]) == (1, 1)
    assert random.getstate() == python


def test_the_outermost_scope_leaves_its_streams_and_a_nested_one_gives_them_back(run):
    with rs.seeded(task="outer"):
        draws()
        at_nested = rs.snapshot()
        with rs.seeded(task="nested"):
            draws()
        assert rs.snapshot() == at_nested
        at_end = rs.snapshot()
    assert rs.snapshot() == at_end


@pytest.mark.parametrize("outer", [None, True, False])
@pytest.mark.parametrize("inner", [None, True, False])
def test_restore_true_and_false_are_obeyed(run, outer, inner):
    draws()
    start = rs.snapshot()
    with rs.seeded(task="outer", restore=outer):
        draws()
        middle = rs.snapshot()
        with rs.seeded(task="inner", restore=inner):
            draws()
            end = rs.snapshot()
        assert rs.snapshot() == (end if inner is False else middle)
        after = rs.snapshot()
    assert rs.snapshot() == (start if outer else after)


def test_what_follows_an_outermost_scope_does_not_depend_on_what_came_before_it(run):
    seen = []
    for n in (1, 50):
        draws(n)
        with rs.seeded(task="t", epoch=0):
            draws()
        seen.append(draws())
    assert seen[0] == seen[1]


def test_a_generator_registered_inside_a_scope_is_seeded_for_it_and_then_for_the_scope_around(run):
    late = random.Random()
    expected = random.Random()
    rs.register_generator(expected, name="g")
    outside = expected.random()
    with rs.seeded(task="t"):
        inside = expected.random()
    rs.unregister_generator(expected)
    rs.init(master_seed=11)
    with rs.seeded(task="t", restore=True):
        rs.register_generator(late, name="g")
        assert late.random() == inside
    assert late.random() == outside


# --- addresses ------------------------------------------------------------------------------------------------


def test_a_nested_address_is_absolute_but_inherits_own_coordinates(run):
    with (
        rs.seeded(task="cv", epoch=3, step=1, fold=2, trial="a"),
        rs.seeded(task="eval") as scope,
    ):
        assert dict(scope.address) == {"task": "eval", "fold": 2, "trial": "a"}
        with rs.seeded(fold=5) as deeper:
            assert dict(deeper.address) == {"fold": 5, "trial": "a"}


def test_a_scope_of_another_seeder_inherits_nothing():
    one, two = rs.Seeder(1), rs.Seeder(2)
    with one.seeded(task="a", fold=1), two.seeded(task="b") as scope:
        assert dict(scope.address) == {"task": "b"}
        assert two.stream("x").master_seed == 2


def test_at_extends_the_current_address_and_step(run):
    with rs.seeded(task="t", epoch=1, fold=2) as scope:
        with scope.at(trial=3) as child:
            assert dict(child.address) == {"task": "t", "epoch": 1, "fold": 2, "trial": 3}
            with rs.seeded(task="u") as below:
                assert dict(below.address) == {"task": "u", "fold": 2, "trial": 3}
        for step, _ in scope.steps(2):
            with rs.current().at(trial=0) as child:
                assert child.address["step"] == step
        with scope.at(epoch=7) as child:
            assert child.address["epoch"] == 7


def test_at_equals_the_scope_written_out(run):
    with rs.seeded(task="t", epoch=1) as scope, scope.at(step=4):
        one = draws()
    with rs.seeded(task="t", epoch=1, step=4):
        assert draws() == one


@pytest.mark.parametrize("name", ["master_seed", "shared"])
def test_at_takes_no_arguments_of_seeded_as_coordinates(run, name):
    with rs.seeded(task="t") as scope, pytest.raises(rs.CoordinateTypeError, match=f"'{name}' is no coordinate"):
        scope.at(**{name: 1})


@pytest.mark.parametrize("call", [rs.stream, rs.reseed], ids=["stream", "reseed"])
@pytest.mark.parametrize("name", ["master_seed", "restore"])
def test_arguments_of_seeded_are_no_coordinates_elsewhere(run, call, name):
    with pytest.raises(rs.CoordinateTypeError, match=f"'{name}' is no coordinate"):
        call("x", **{name: 1})


def test_the_address_in_force_includes_the_step(run):
    with rs.seeded(task="t", epoch=0) as scope:
        for step, _ in rs.steps(2):
            assert scope.address == rs.current().address
            assert dict(scope.address) == {"task": "t", "epoch": 0, "step": step}
            assert scope.stream("x").address["step"] == step


def test_current_is_the_innermost_scope_and_raises_outside(run):
    with rs.seeded(task="a"):
        with rs.seeded(task="b"):
            assert rs.current().address["task"] == "b"
        assert rs.current().address["task"] == "a"
    with pytest.raises(rs.ScopeError, match=r"no scope is open here: call current\(\) inside"):
        rs.current()


def test_seeds_tell_what_each_library_got(run):
    seen: list[int] = []
    rs.register_generator(seen.append, name="f")
    with pytest.warns(rs.NotRestorableWarning), rs.seeded(task="t", restore=True) as scope:
        seeds = scope.seeds()
        assert set(seeds) == {"python", "numpy", "torch.cpu", "f"}
        assert seeds["torch.cpu"] == torch.initial_seed() % 2**64
        assert seeds["f"] == seen[-1]
        with scope.at(step=1) as child:
            assert child.seeds() != seeds


def test_before_is_the_snapshot_at_entry(run):
    draws()
    before = rs.snapshot()
    with rs.seeded(task="t") as scope:
        draws()
        assert scope.before == before
        with rs.seeded(task="u") as inner:
            assert inner.before != before
        scope.before.restore()
        assert rs.snapshot() == before


# --- a master seed of one's own ------------------------------------------------------------------------------


def test_a_master_seed_needs_no_run_and_everything_works_inside(monkeypatch):
    def section():
        with rs.seeded(master_seed=42, task="demo", restore=True) as scope:
            first = draws()
            with rs.seeded(task="inner"):
                second = draws()
            third = [(step, draws()) for step, _ in rs.steps(2)]
            streams = [rs.stream("x").seed(), scope.stream("x").seed()]
            assert not rs.is_initialized()
            assert rs.get_master_seed() == 42
            return first, second, third, streams

    before = rs.snapshot()
    one = section()
    assert rs.snapshot() == before
    rs.init(master_seed=42)
    with rs.seeded(task="demo"):
        assert draws() == one[0]
    monkeypatch.setattr("reproseed.run._current", None)
    assert section() == one


def test_a_master_seed_inside_a_run_holds_for_what_is_inside(run):
    def section(**given):
        with rs.seeded(**given, restore=True), rs.seeded(task="inner"):
            return draws(), rs.stream("x").seed(), rs.current().stream("x").seed(), [draws() for _ in rs.steps(1)]

    inside = section(master_seed=42)
    assert inside != section(task="x")
    rs.init(master_seed=42)
    assert section(fold=1)[1] == inside[1]
    rs.init(master_seed=12)
    assert section(master_seed=42) == inside


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_master_seed_out_of_range_is_refused(seed):
    with pytest.raises(rs.SeedRangeError, match=r"\[0, 2\*\*64\)"):
        rs.seeded(master_seed=seed)


def test_the_outermost_scope_without_a_run_ends_with_its_streams():
    seen = []
    for n in (1, 7):
        draws(n)
        with rs.seeded(master_seed=5):
            draws()
        seen.append(draws())
    assert seen[0] == seen[1]


# --- one object many times ------------------------------------------------------------------------------------


def test_one_object_is_entered_again_and_again_and_recursively(run):
    scope = rs.seeded(task="t", restore=True)

    def enter(depth):
        with scope as opened:
            first = draws()
            inner = enter(depth - 1) if depth else None
            assert opened.before is not None
            return first, inner, draws()

    draws()
    before = rs.snapshot()
    one = enter(3)
    assert rs.snapshot() == before
    assert enter(3) == one
    assert one[0] == one[1][0]
    assert one[2] != one[0]


def test_each_entry_of_one_object_has_its_own_snapshot(run):
    scope = rs.seeded(task="t")
    with scope as one:
        draws()
        with scope as two:
            assert one.before != two.before
            assert one.address == two.address


def test_interleaved_generators_on_one_object_leave_each_its_own_handle(run):
    scope = rs.seeded(task="t", restore=True)

    def items():
        with scope:
            yield 1
            yield 2

    before = rs.snapshot()
    a, b = items(), items()
    next(a), next(b)
    with pytest.warns(rs.ScopeOrderWarning):
        a.close()
    b.close()
    assert rs.snapshot() == before


def test_one_object_in_two_exit_stacks_closed_in_either_order(run):
    scope = rs.seeded(task="t", restore=True)
    for first in (0, 1):
        before = rs.snapshot()
        stacks = [contextlib.ExitStack(), contextlib.ExitStack()]
        for one in stacks:
            one.enter_context(scope)
            draws()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rs.ScopeOrderWarning)
            stacks[first].close()
            stacks[1 - first].close()
        assert rs.snapshot() == before


def test_one_object_decorates_several_functions_and_stays_usable(run):
    scope = rs.seeded(task="t", restore=True)

    @scope
    def f():
        return draws()

    @scope
    def g():
        return draws()

    with scope:
        plain = draws()
    assert f() == g() == plain


# --- warnings -------------------------------------------------------------------------------------------------


def _line() -> int:
    return sys._getframe(1).f_lineno


def test_an_address_entered_seventeen_times_inside_one_scope_warns_once_at_the_callers_line(run):
    with rs.seeded(task="train", epoch=0), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(40):
            line = _line() + 1
            with rs.seeded(task="aug"):
                pass
    assert [w.category for w in caught] == [rs.RepeatedAddressWarning]
    assert str(caught[0].message) == (
        "(task='aug') was entered 17 times inside (epoch=0, task='train'): every call draws the same numbers. "
        "Per sample use rs.data.SampleSeeded, per step rs.current().at(...)."
    )
    assert (caught[0].filename, caught[0].lineno) == (__file__, line)


def test_repeats_outside_any_scope_and_of_different_addresses_do_not_warn(run):
    for _ in range(40):
        with rs.seeded(task="aug"):
            pass
    with rs.seeded(task="train") as scope:
        for trial in range(40):
            with scope.at(trial=trial):
                pass
        for seed in range(40):
            with rs.seeded(master_seed=seed):
                pass


def test_a_million_addresses_do_not_stay_in_memory(run):
    with rs.seeded(task="train") as scope:
        for step in range(stack._COUNTED + 100):
            with scope.at(step=step):
                pass
        assert len(stack.innermost().counts) <= stack._COUNTED


def test_a_decorated_function_called_in_a_loop_warns_at_the_callers_line(run):
    @rs.seeded(task="forward")
    def forward():
        return random.random()

    with rs.seeded(task="train"), pytest.warns(rs.RepeatedAddressWarning, match="entered 17 times") as caught:
        for _ in range(17):
            line = _line() + 1
            forward()
    assert (caught[0].filename, caught[0].lineno) == (__file__, line)


@pytest.mark.parametrize("how", ["expression", "variable", "elsewhere"])
def test_a_scope_that_was_never_entered_warns_with_the_line_that_made_it(run, how):
    with pytest.warns(rs.UnenteredScopeWarning, match=r"never entered and seeded nothing: write `with rs") as caught:
        if how == "expression":
            line = _line() + 1
            rs.seeded(task="init")
        elif how == "variable":
            line = _line() + 1
            scope = rs.seeded(task="init")
            del scope
        else:

            def make():
                return [rs.seeded(task="init")], _line()

            kept, line = make()
            kept.clear()
        gc.collect()
    assert [(w.filename, w.lineno) for w in caught] == [(__file__, line)]


def test_a_preserved_that_was_never_entered_warns_too():
    with pytest.warns(rs.UnenteredScopeWarning, match=r"preserves nothing: write `with rs.preserved"):
        rs.preserved()
        gc.collect()


@pytest.mark.parametrize("use", ["entered", "failed", "decorated", "refused"])
def test_a_scope_that_was_used_does_not_warn(run, use):
    if use == "entered":
        with rs.seeded(task="t"):
            pass
    elif use == "failed":
        generator = Breaking()
        rs.register_generator(generator)
        generator.arm("seed", OSError())
        with pytest.raises(OSError), rs.seeded(task="t"):  # noqa: PT011 - the class is the point
            pass
    elif use == "decorated":
        rs.seeded(task="t")(lambda: None)
    else:
        with pytest.raises(rs.CoordinateTypeError):
            rs.seeded(task=1.5)
    gc.collect()


def test_order_and_unrestorable_warnings_point_to_the_callers_line(run):
    rs.register_generator(lambda seed: None, name="f")
    one, two = rs.seeded(task="a"), rs.seeded(task="b")
    one.__enter__()
    two.__enter__()
    with pytest.warns(rs.ScopeOrderWarning, match=r"\(task='a'\) was closed while \(task='b'\)") as caught:
        line = _line() + 1
        one.__exit__(None, None, None)
    assert (caught[0].filename, caught[0].lineno) == (__file__, line)
    with pytest.warns(rs.NotRestorableWarning, match="f: a callable can be seeded, not read") as caught:
        line = _line() + 1
        two.__exit__(None, None, None)
    assert (caught[0].filename, caught[0].lineno) == (__file__, line)


def test_a_warning_made_an_error_at_exit_still_gives_everything_back(run):
    rs.register_generator(lambda seed: None, name="f")
    before = rs.snapshot()
    with pytest.raises(rs.NotRestorableWarning), rs.seeded(task="a", restore=True):
        draws()
    assert rs.snapshot() == before


# --- preserved ------------------------------------------------------------------------------------------------


def test_preserved_seeds_nothing_and_gives_everything_back():
    state = rs.snapshot()
    with rs.preserved() as scope:
        assert rs.snapshot() == state
        first = draws()
        assert scope.before == state
    assert rs.snapshot() == state
    assert draws() == first


def test_preserved_inside_a_scope_keeps_its_address(run):
    with rs.seeded(task="t", fold=1), rs.preserved(), rs.seeded(task="u") as scope:
        assert dict(scope.address) == {"task": "u", "fold": 1}


@pytest.mark.parametrize(
    ("draw", "name"),
    [(random.random, "python"), (np.random.random, "numpy"), (lambda: torch.rand(1), "torch.cpu")],
    ids=["python", "numpy", "torch"],
)
def test_preserved_with_a_check_names_what_moved(draw, name):
    before = rs.snapshot()
    with pytest.raises(rs.UnexpectedDrawError, match=f"^{name} moved inside preserved"), rs.preserved(check="error"):
        draw()
    assert rs.snapshot() == before
    with pytest.warns(rs.ReproseedWarning, match=f"^{name} moved inside preserved"), rs.preserved(check="warn"):
        draw()
    assert rs.snapshot() == before
    with rs.preserved(check="error"):
        pass


def test_a_check_names_registered_generators_too(run):
    mine = random.Random()
    rs.register_generator(mine, name="mine")
    with pytest.raises(rs.UnexpectedDrawError, match=r"^mine moved"), rs.preserved(check="error"):
        mine.random()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_check_does_not_hide_the_bodys_exception(error):
    before = rs.snapshot()
    with pytest.raises(error), rs.preserved(check="error"):
        random.random()
        raise error
    assert rs.snapshot() == before


def test_a_check_whose_reading_fails_still_closes_the_scope(run):
    broken = Breaking()
    rs.register_generator(broken, name="b")
    with pytest.raises(OSError, match="read"), rs.preserved(check="error"):
        random.random()
        broken.arm("getstate", OSError("read"))
    assert stack.innermost() is None


@pytest.mark.parametrize("check", ["raise", True, 1])
def test_preserved_takes_only_its_checks(check):
    with pytest.raises(rs.CoordinateTypeError, match="allowed are 'error', 'warn' and None"):
        rs.preserved(check=check)


# --- what is said to whoever mistypes -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: rs.seeded(42),
            "seeded() takes keywords: seeded(master_seed=42) for a seed, seeded(task=42) for a task.",
        ),
        (lambda: rs.seeded(seed=42), "seeded(): 'seed' is no coordinate; did you mean master_seed=42?"),
        (
            lambda: rs.seeded(task="t", epcoh=3),
            "seeded(): unknown coordinate 'epcoh'; did you mean 'epoch'? Choose another name for one of your own.",
        ),
        (lambda: rs.seeded(task="t", restor=True), "seeded(): unknown coordinate 'restor'; did you mean 'restore'? "),
        (lambda: rs.seeded(task="t", maseter_seed=True), "did you mean 'master_seed'? "),
        (lambda: rs.seeded(rank=0), "seeded(): 'rank' is no coordinate; it is added by itself; shared=True leaves it"),
        (lambda: rs.seeded(world_size=2), "'world_size' is no coordinate; no address holds the number of ranks."),
        (lambda: rs.seeded(worker=2), "'worker' is no coordinate; workers are seeded by the data loading."),
        (lambda: rs.seeded(shard=2), "'shard' is no coordinate; logical ranks belong to reproseed.elastic."),
        (lambda: rs.seeded(phase="x"), "'phase' is no coordinate; steps() sets it."),
        (lambda: rs.seeded(sample=2), "'sample' is no coordinate; samples are addressed by SampleSeeded."),
        (lambda: rs.seeded(**{"a b": 2}), "coordinate name 'a b' is not an ASCII identifier"),
        (lambda: rs.seeded(é=2), "coordinate name 'é' is not an ASCII identifier"),
        (lambda: rs.seeded(fold=None), "coordinate fold=None has no value"),
        (lambda: rs.seeded(task="t", restore=1), "restore=1 must be True, False or None."),
        (lambda: rs.seeded(task="t", shared="no"), "shared='no' must be True or False."),
        (lambda: rs.seeded_epoch(3), "seeded_epoch() takes keywords: seeded_epoch(task=3)."),
        (lambda: rs.seeded_epoch(epoch=3), 'the name of an argument is wanted, such as "epoch"; seeded(epoch=3)'),
        (lambda: rs.seeded(lambda: 1), "@seeded needs parentheses and a task: write @seeded(task=...)."),
    ],
)
def test_what_people_write_in_the_first_hour_is_answered(run, call, sentence):
    before = rs.snapshot()
    with pytest.raises(rs.CoordinateTypeError) as caught:
        call()
    assert sentence in str(caught.value)
    assert rs.snapshot() == before


def test_a_scope_before_init_says_what_to_call():
    before = rs.snapshot()
    with pytest.raises(rs.NotInitializedError) as caught, rs.seeded(task="t"):
        pass
    assert str(caught.value) == ("No run: call rs.init(master_seed=...) first, or give this scope master_seed=... .")
    assert rs.snapshot() == before


def test_an_argument_to_read_has_no_meaning_in_a_with_block(run):
    with (
        pytest.raises(rs.CoordinateTypeError, match=r'fold=rs.arg\("fold"\) reads an argument of a decorated function'),
        rs.seeded(task="t", fold=rs.arg("fold")),
    ):
        pass


@pytest.mark.parametrize("name", ["mask", "steps", "tasks", "epochs_", "fold", "seeds", "share"])
def test_a_name_of_ones_own_is_accepted_or_refused_with_the_right_spelling(run, name):
    near = {"steps": "step", "tasks": "task", "epochs_": "epoch", "share": "shared"}
    if name in near:
        with pytest.raises(rs.CoordinateTypeError, match=f"did you mean '{near[name]}'"):
            rs.seeded(**{name: 1})
    else:
        with rs.seeded(**{name: 1}) as scope:
            assert dict(scope.address) == {name: 1}


# --- off ------------------------------------------------------------------------------------------------------


def test_seeding_off_passes_scopes_through(monkeypatch):
    monkeypatch.setenv("REPROSEED_SEEDING", "off")
    rs.init(master_seed=1)
    mine = random.Random(5)
    rs.register_generator(mine)
    before, state = rs.snapshot(), mine.getstate()
    with rs.seeded(task="t", restore=True) as scope:
        assert dict(scope.address) == {"task": "t"}
        assert rs.snapshot() == before
        for _ in rs.steps(2):
            pass
        inside = draws()
    before.restore()
    assert draws() == inside
    assert mine.getstate() == state


def test_shared_scopes_leave_the_rank_out():
    seen = []
    for rank in (0, 1):
        rs.init(master_seed=1, rank=rank, world_size=2)
        with rs.seeded(task="t"):
            private = draws()
        with rs.seeded(task="t", shared=True) as scope:
            shared = draws()
            with scope.at(step=1):
                child = draws()
        seen.append((private, shared, child))
    assert seen[0][0] != seen[1][0]
    assert seen[0][1:] == seen[1][1:]
