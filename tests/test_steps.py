"""Loops over steps: every phase has its address, no draw depends on history, and a resumed loop goes on exactly."""

from __future__ import annotations

import contextlib
import random

import numpy as np
import pytest
import torch
from labels import label
from torch.utils.data import DataLoader, Dataset, RandomSampler

import reproseed as rs


def draws() -> tuple[float, ...]:
    return random.random(), float(np.random.random()), float(torch.rand(()))


def at(**coordinates) -> tuple[float, ...]:
    """What an address draws; ``phase`` is given as the loops do."""
    seeder = rs.run.current_seeder()
    with rs.preserved():
        seeder.seed(seeder.sources(), rs.address.Address(**coordinates), False, None)
        return draws()


@pytest.fixture
def run():
    return rs.init(master_seed=14)


class Numbers(Dataset):
    """Items that carry their fetcher's draws."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return index, random.random(), float(np.random.random()), float(torch.rand(()))


def loader(**given):
    return DataLoader(Numbers(), batch_size=2, shuffle=True, **given)


class Telling:
    """An iterable that tells what each of its phases drew."""

    def __init__(self, n=3):
        self.n, self.iter, self.fetched = n, None, []

    def __len__(self):
        return self.n

    def __iter__(self):
        self.iter = draws()
        return self._items()

    def _items(self):
        for _ in range(self.n):
            drawn = draws()
            self.fetched.append(drawn)
            yield drawn


# --- phases ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "tail"), [("step", ""), ("micro", ":micro")])
def test_every_phase_draws_at_its_address(run, name, tail):
    items = Telling()
    base = {"task": "t", "epoch": 2}
    with rs.seeded(**base):
        bodies = [(step, item, draws()) for step, item in rs.steps(items, name)]
        after = draws()
        assert dict(rs.current().address) == {**base, "phase": "after" + tail}
    assert items.iter == at(**base, phase="iter" + tail)
    for step, item, body in bodies:
        assert item == at(**base, **{name: step}, phase="fetch")
        assert body == at(**base, **{name: step})
    assert after == at(**base, phase="after" + tail)
    assert [step for step, *_ in bodies] == [0, 1, 2]


def test_no_draw_depends_on_how_much_was_drawn_before(run):
    def epoch(extra):
        seen = []
        with rs.seeded(task="t", epoch=0, restore=True):
            for _ in range(extra):
                draws()
            for step, item in rs.steps(Telling()):
                seen.append((step, item, draws()))
                for _ in range(extra):
                    draws()
            seen.append(draws())
        return seen

    assert epoch(0) == epoch(3)


@pytest.mark.parametrize(
    ("make", "items"),
    [
        (lambda: 3, [0, 1, 2]),
        (lambda: 0, []),
        (lambda: np.int64(2), [0, 1]),
        (lambda: torch.tensor(2), [0, 1]),
        (lambda: torch.tensor([5, 6]), [5, 6]),
        (lambda: ["a", "b"], ["a", "b"]),
        (lambda: {"a": 1}, ["a"]),
        (lambda: (x for x in "ab"), ["a", "b"]),
        (lambda: iter("ab"), ["a", "b"]),
        (lambda: range(4, 6), [4, 5]),
        (lambda: zip("ab", "cd", strict=True), [("a", "c"), ("b", "d")]),
    ],
    ids=["int", "zero", "numpy-int", "tensor-int", "tensor", "list", "dict", "generator", "iterator", "range", "zip"],
)
def test_anything_that_can_be_iterated_over_is_taken(run, make, items):
    with rs.seeded(task="t", epoch=0):
        assert list(rs.steps(make())) == list(enumerate(items))


def test_length_and_repr_tell_what_is_yielded(run):
    with rs.seeded(task="t", epoch=0):
        assert len(rs.steps([1, 2])) == 2
        assert len(rs.steps(5)) == 5
        assert len(rs.steps(loader())) == 4
        with pytest.raises(TypeError):
            len(rs.steps(x for x in "ab"))
        assert repr(rs.steps([1])) == "<steps over list: yields (step, item) inside (epoch=0, task='t')>"


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_a_loader_gives_the_same_items_and_bodies_whatever_the_history(run, workers):
    def epoch(extra):
        seen = []
        with rs.seeded(task="t", epoch=1, restore=True):
            for _ in range(extra):
                draws()
            for step, batch in rs.steps(loader(num_workers=workers)):
                seen.append((step, [part.tolist() for part in batch], draws()))
                draws()
            seen.append(draws())
        return seen

    assert epoch(0) == epoch(2)


def test_steps_need_a_scope(run):
    with pytest.raises(rs.ScopeError, match=r"steps\(\) needs the address of an open scope: iterate inside"):
        rs.steps(3)
    with rs.preserved(), pytest.raises(rs.ScopeError, match=r"needs the address"):
        rs.steps(3)


@pytest.mark.parametrize("iterable", [True, None, 1.5, object()], ids=label)
def test_what_cannot_be_iterated_over_is_refused(run, iterable):
    with (
        rs.seeded(task="t", epoch=0),
        pytest.raises(rs.CoordinateTypeError, match=r"something to iterate over, or a number of steps"),
    ):
        rs.steps(iterable)


@pytest.mark.parametrize("name", ["epoch", "task", "restore", "phase", "rank", "stpe", "a b", "é", 3, None])
def test_a_name_that_is_no_coordinate_of_ones_own_is_refused(run, name):
    with rs.seeded(task="t", epoch=0):
        before = rs.snapshot()
        with pytest.raises(rs.CoordinateTypeError):
            rs.steps(3, name)
        assert rs.snapshot() == before


def test_persistent_workers_are_refused_with_what_to_use(run):
    kept = loader(num_workers=1, persistent_workers=True)
    with rs.seeded(task="t", epoch=0), pytest.raises(rs.ScopeError) as caught:
        rs.steps(kept)
    assert str(caught.value) == (
        "Workers that outlive an epoch keep old streams; use rs.data.seeded_loader(...), same arguments, or "
        "persistent_workers=False."
    )


# --- several loops --------------------------------------------------------------------------------------------


def test_zip_of_two_loops_of_one_name_raises(run):
    with (
        rs.seeded(task="t", epoch=0),
        pytest.raises(rs.ScopeError, match=r"a loop over steps named 'step' runs or has run .* steps\(zip\(a, b\)\)"),
    ):
        list(zip(rs.steps(2), rs.steps(2), strict=True))


def test_zip_of_two_loops_of_two_names_raises_when_the_outer_goes_on(run):
    with (
        rs.seeded(task="t", epoch=0),
        pytest.raises(rs.ScopeError, match="'micro' ran inside a step of another loop that has gone on since"),
    ):
        list(zip(rs.steps(2), rs.steps(2, "micro"), strict=True))


def test_a_second_loop_of_one_name_raises_and_one_of_another_scope_does_not(run):
    with rs.seeded(task="t", epoch=0):
        list(rs.steps(2))
        with pytest.raises(rs.ScopeError, match="another would draw the same numbers"):
            list(rs.steps(2))
        with rs.seeded(task="u", epoch=0):
            list(rs.steps(2))
    with rs.seeded(task="t", epoch=0):
        list(rs.steps(2))


@pytest.mark.parametrize("base", [{"task": "t", "epoch": 0}, {"task": "t"}, {}], ids=["epoch", "task", "empty"])
def test_a_loop_after_one_left_by_break_stands_outside_its_step(run, base):
    with rs.seeded(**base):
        for step, _ in rs.steps(5):
            if step == 2:
                break
        for micro, _ in rs.steps(2, "micro"):
            assert dict(rs.current().address) == {**base, "micro": micro}
            assert draws() == at(**base, micro=micro)
        with pytest.raises(rs.ScopeError, match="runs or has run"):
            list(rs.steps(2))


def test_nested_loops_carry_the_outer_step(run):
    base = {"task": "t", "epoch": 0}
    with rs.seeded(**base):
        for step, _ in rs.steps(2):
            for micro, item in rs.steps(Telling(2), "micro"):
                assert item == at(**base, step=step, micro=micro, phase="fetch")
                assert draws() == at(**base, step=step, micro=micro)
            assert draws() == at(**base, step=step, phase="after:micro")
            for late, _ in rs.steps(3, "late"):
                assert draws() == at(**base, step=step, late=late)
                break


def test_advancing_a_loop_whose_scope_is_not_innermost_raises_and_changes_nothing(run):
    with rs.seeded(task="t", epoch=0):
        loop = iter(rs.steps(3))
        next(loop)
        with rs.seeded(task="u"):
            before = rs.snapshot()
            with pytest.raises(rs.ScopeError, match=r"belongs to \(epoch=0, task='t'\), but \(task='u'\) is the inn"):
                next(loop)
            assert rs.snapshot() == before
        next(loop)
    before = rs.snapshot()
    with pytest.raises(rs.ScopeError, match="no scope is open"):
        next(loop)
    assert rs.snapshot() == before


def test_closing_a_loop_touches_no_state(run):
    with rs.seeded(task="t", epoch=0):
        loop = iter(rs.steps(Telling()))
        next(loop)
        draws()
        before, address = rs.snapshot(), rs.current().address
        del loop
        assert rs.snapshot() == before
        assert rs.current().address == address


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_an_exception_in_a_body_comes_through_and_the_scope_restores(run, error):
    raised = error()
    before = rs.snapshot()
    with pytest.raises(error) as caught, rs.seeded(task="t", epoch=0, restore=True):  # noqa: PT012 - the loop is it
        for step, _ in rs.steps(loader()):
            draws()
            if step == 1:
                raise raised
    assert caught.value is raised
    assert rs.snapshot() == before


def test_an_exception_while_fetching_comes_through_and_the_next_loop_stands_outside(run):
    def items():
        yield 1
        raise OSError("disk")

    with rs.seeded(task="t", epoch=0):
        with pytest.raises(OSError, match="disk"):
            list(rs.steps(items()))
        for micro, _ in rs.steps(1, "micro"):
            assert dict(rs.current().address) == {"task": "t", "epoch": 0, "micro": micro}


def test_an_iterable_that_fails_to_begin_may_be_tried_again(run):
    class Failing:
        fails = True

        def __iter__(self):
            if self.fails:
                raise OSError("not mounted")
            return iter("ab")

    items = Failing()
    with rs.seeded(task="t", epoch=0):
        with pytest.raises(OSError, match="not mounted"):
            next(iter(rs.steps(items)))
        items.fails = False
        assert [item for _, item in rs.steps(items)] == ["a", "b"]


def test_steps_work_in_decorated_functions(run):
    @rs.seeded_epoch(task="train")
    def train(n, epoch):
        return [(step, draws()) for step, _ in rs.steps(n)]

    assert train(2, 0) == [(step, at(task="train", epoch=0, step=step)) for step in range(2)]
    assert train(2, 1) != train(2, 0)


def test_a_loop_over_epochs_counts_and_refuses_what_is_no_number(run):
    loop = rs.epochs(3)
    assert (len(loop), list(loop)) == (3, [0, 1, 2])
    for bad in (-1, 1.5, True, "3"):
        with pytest.raises((rs.CoordinateTypeError, rs.CoordinateValueError)):
            rs.epochs(bad)


# --- resuming -------------------------------------------------------------------------------------------------


def run_on(program, state=None, seed=14):
    """Run a program in a new run, resumed from a state if one is given; return its log."""
    rs.init(master_seed=seed, resume=state)
    log: list[object] = []
    program(log)
    return log


def resume_everywhere(program):
    """Save at every chance of a program, resume from each, and compare what follows with the whole run's log."""
    whole: list[object] = []
    states: list[tuple[int, dict]] = []

    def save():
        states.append((len(whole), rs.state_dict()))

    rs.init(master_seed=14)
    program(whole, save)
    assert states
    for length, state in states:
        rs.init(master_seed=14, resume=state)
        log: list[object] = []
        program(log, lambda: None)
        assert log == whole[length:], f"resumed after {whole[:length][-1:]}"


@pytest.mark.parametrize("make", [lambda: 4, lambda: Telling(4), loader], ids=["int", "plain", "loader"])
def test_a_loop_resumes_after_every_step(make):
    def program(log, save):
        for epoch in rs.epochs(2):
            with rs.seeded(task="train", epoch=epoch):
                for step, item in rs.steps(make()):
                    kept = [part.tolist() for part in item] if isinstance(item, list) else item
                    log.append((epoch, step, kept, draws()))
                    save()
                log.append((epoch, "after", draws()))

    resume_everywhere(program)


def test_nested_loops_resume_after_every_inner_step():
    def program(log, save):
        for epoch in rs.epochs(2):
            with rs.seeded(task="train", epoch=epoch):
                for step, _ in rs.steps(Telling(2)):
                    for micro, inner in rs.steps(Telling(3), "micro"):
                        log.append((epoch, step, micro, inner, draws()))
                        save()
                    draws()
                    for late, _ in rs.steps(2, "late"):
                        log.append((epoch, step, "late", late, draws()))
                        save()
                    log.append((epoch, step, "end", draws()))
                    save()
                log.append((epoch, "end", draws()))

    resume_everywhere(program)


@pytest.mark.parametrize("leave", ["break", "exhaust"])
def test_a_loop_that_has_ended_is_empty_when_a_later_one_is_resumed(leave):
    def program(log, save):
        with rs.seeded(task="train", epoch=0):
            for step, _ in rs.steps(Telling(3)):
                log.append(("step", step, draws()))
                if leave == "break" and step == 1:
                    break
            for late, item in rs.steps(Telling(3), "late"):
                log.append(("late", late, item, draws()))
                save()

    resume_everywhere(program)


def test_an_inner_loop_left_by_break_does_not_come_back_when_its_step_is_done():
    def program(log, save):
        with rs.seeded(task="train", epoch=0):
            for step, _ in rs.steps(3):
                for micro, _ in rs.steps(5, "micro"):
                    log.append((step, micro, draws()))
                    if micro == step:
                        break
                log.append((step, "update"))
                save()

    resume_everywhere(program)


def test_a_loop_ended_by_an_exception_goes_on_behind_the_step_it_was_in():
    def program(log, stop=None):
        with rs.seeded(task="train", epoch=0):
            for step, _ in rs.steps(4):
                log.append((step, draws()))
                if step == stop:
                    raise KeyboardInterrupt

    whole, partly = run_on(program), []
    rs.init(master_seed=14)
    with rs.seeded(task="train", epoch=0):
        with contextlib.suppress(KeyboardInterrupt):
            for step, _ in rs.steps(4):
                partly.append((step, draws()))
                if step == 1:
                    raise KeyboardInterrupt
        with pytest.warns(rs.ResumeWarning, match=r"left in step 1, and this checkpoint resumes at step 2"):
            state = rs.state_dict()
    assert partly + run_on(program, state) == whole


def test_saved_with_same_the_step_runs_again():
    def program(log):
        with rs.seeded(task="train", epoch=0):
            for step, item in rs.steps(Telling(4)):
                log.append((step, item, draws()))
                if step == 2:
                    states.append(rs.state_dict(resume="same"))

    states: list[dict] = []
    whole = run_on(program)
    assert run_on(program, states[0]) == whole[2:]


def test_an_iterable_that_has_become_shorter_is_reported():
    def program(n):
        with rs.seeded(task="train", epoch=0):
            for step, _ in rs.steps(Telling(n)):
                if step == 3:
                    return rs.state_dict()
        return None

    rs.init(master_seed=14)
    state = program(5)
    rs.init(master_seed=14, resume=state)
    with pytest.raises(rs.StateMismatchError, match=r"stands at step 4 of .* but this iterable ended after 2"):
        program(2)


class Stateful:
    """A loader with a state of its own: an order that it draws when it begins, and goes on with when loaded.

    Like torchdata's, its state after the last item begins a new pass.
    """

    def __init__(self, n=5):
        self.n, self.passes, self.order, self.done, self.loaded, self.fetched = n, 0, [], 0, None, 0

    def __iter__(self):
        if self.loaded is not None:
            self.order, self.done, self.passes = self.loaded["order"], self.loaded["done"], self.loaded["passes"]
            self.loaded = None
        else:
            self.order, self.done = torch.randperm(self.n).tolist(), 0
        if self.done == self.n:
            self.order, self.done = torch.randperm(self.n).tolist(), 0
        return self._items()

    def _items(self):
        while self.done < self.n:
            self.done += 1
            self.fetched += 1
            yield self.order[self.done - 1]
        self.passes += 1

    def state_dict(self):
        return {"order": list(self.order), "done": self.done, "passes": self.passes}

    def load_state_dict(self, state):
        self.loaded = state


@pytest.mark.parametrize("ended", [False, True], ids=["inside", "ended"])
@pytest.mark.parametrize("resume", ["next", "same"])
def test_a_loader_with_a_state_of_its_own_goes_on_from_it(ended, resume):
    def program(log, items, save=None):
        with rs.seeded(task="train", epoch=0):
            for step, item in rs.steps(items):
                log.append((step, item, draws()))
                if save and not ended and step == 2:
                    save()
            for late, _ in rs.steps(2, "late"):
                log.append(("late", late, draws()))
                if save and ended and late == 0:
                    save()

    whole: list[object] = []
    states: list[tuple[int, dict]] = []
    rs.init(master_seed=14)
    program(whole, Stateful(), lambda: states.append((len(whole), rs.state_dict(resume=resume))))
    length, state = states[0]
    rs.init(master_seed=14, resume=state)
    log: list[object] = []
    items = Stateful()
    program(log, items)
    assert log == whole[length if resume == "next" else length - 1 :]
    if resume == "next":
        assert items.fetched == (5 if ended else 2)  # gone on with; only a pass that has ended is fetched again


def test_a_stateful_loader_without_a_saved_state_is_replayed():
    rs.init(master_seed=14)
    with rs.seeded(task="train", epoch=0):
        seen = [(step, item) for step, item in rs.steps(Stateful())]
        assert sorted(item for _, item in seen) == [0, 1, 2, 3, 4]


def test_a_finished_epoch_is_not_run_again_and_later_loops_begin_at_zero():
    def program(log):
        for epoch in rs.epochs(2):
            with rs.seeded(task="train", epoch=epoch):
                log.extend((epoch, step, draws()) for step, _ in rs.steps(2))
            states.append(rs.state_dict())
        for fold in range(2):
            log.extend((fold, epoch) for epoch in rs.epochs(2, fold=fold))

    states: list[dict] = []
    whole = run_on(program)
    kept = list(states)
    assert run_on(program, kept[0]) == whole[2:]
    assert run_on(program, kept[1]) == whole[4:]


def test_a_loaded_position_is_used_up_once():
    rs.init(master_seed=14)
    with rs.seeded(task="train", epoch=0):
        for step, _ in rs.steps(4):
            if step == 1:
                state = rs.state_dict()
    rs.init(master_seed=14, resume=state)
    for expected in ([2, 3], [0, 1, 2, 3]):
        with rs.seeded(task="train", epoch=0):
            assert [step for step, _ in rs.steps(4)] == expected


@pytest.mark.slow
@pytest.mark.parametrize("stop", [0, 2, 3])
def test_a_loader_with_workers_resumes_exactly(stop):
    def program(log, save=None):
        with rs.seeded(task="train", epoch=0):
            for step, batch in rs.steps(loader(num_workers=2)):
                log.append((step, [part.tolist() for part in batch], draws()))
                if save and step == stop:
                    save()
            log.append(draws())

    whole: list[object] = []
    states: list[dict] = []
    rs.init(master_seed=14)
    program(whole, lambda: states.append(rs.state_dict()))
    assert run_on(program, states[0]) == whole[stop + 1 :]


def test_a_sampler_with_a_registered_generator_resumes_exactly():
    def begin(seeder_of):
        generator = torch.Generator()
        seeder_of()
        rs.register_generator(generator, name="order")
        return DataLoader(range(6), sampler=RandomSampler(range(6), generator=generator))

    def epoch(items, stop=None):
        with rs.seeded(task="train", epoch=0):
            for step, batch in rs.steps(items):
                log.append((step, batch.tolist()))
                if step == stop:
                    states.append(rs.state_dict())

    states: list[dict] = []
    log: list[object] = []
    epoch(begin(lambda: rs.init(master_seed=14)), stop=2)
    whole, log = log, []
    items = begin(lambda: rs.init(master_seed=14))
    rs.load_state_dict(states[0])
    epoch(items)
    assert log == whole[3:]
