"""Resuming where a checkpoint cannot know all: it says so, and what it can know it resumes to the same bits."""

from __future__ import annotations

import contextlib
import random

import pytest
import torch
from labels import label
from torch.utils.data import DataLoader

import reproseed as rs


class Stop(Exception):  # noqa: N818 - it stops a program, it is no error
    """Ends a program with the state that was saved."""


def saving(at, wanted):
    if at == wanted:
        raise Stop(rs.state_dict())


def whole_and_resumed(program, stop, **options):
    """Return what a program logs in one go, up to a save, and from there on."""
    logs, state = [], None
    for wanted in (None, stop):
        rs.init(master_seed=2)
        log = []
        with contextlib.suppress(Stop) if wanted is None else pytest.raises(Stop) as caught:
            program(log, wanted, **options)
        logs.append(log)
    state = caught.value.args[0]
    rs.init(resume=state)
    after = []
    program(after, None, **options)
    return (*logs, after)


# --- a loop over epochs inside a scope --------------------------------------------------------------------------------


def _experiment(log, stop, restore=None, inner=True, own=None):
    with rs.seeded(task="exp", restore=restore, **(own or {})):
        for epoch in rs.epochs(4):
            with rs.seeded(task="train", epoch=epoch):
                for step, _ in rs.steps(2):
                    log.append((epoch, step, random.random()))
                    saving((epoch, step), stop)
            log.append((epoch, "after", random.random(), float(torch.rand(()))))
            saving((epoch, "after"), stop)
    log.append(("end", random.random()))


@pytest.mark.parametrize("restore", [None, True, False], ids=label)
@pytest.mark.parametrize("own", [{}, {"fold": 1}], ids=["plain", "fold"])
@pytest.mark.parametrize("stop", [(0, 0), (0, "after"), (1, 1), (2, "after")], ids=label)
def test_epochs_inside_a_scope_resume_from_between_them_too(restore, own, stop):
    whole, before, after = whole_and_resumed(_experiment, stop, restore=restore, own=own)
    assert before + after == whole


# --- scopes that name their steps -------------------------------------------------------------------------------------


def _by_steps(log, stop):
    for epoch in rs.epochs(2):
        for step in range(3):
            with rs.seeded(task="train", epoch=epoch, step=step):
                log.append((epoch, step, random.random()))
            saving((epoch, step), stop)


@pytest.mark.parametrize("stop", [(0, 1), (1, 1)], ids=label)
def test_scopes_that_name_their_steps_lose_nothing_and_say_where_they_resume(stop):
    with pytest.warns(rs.ResumeWarning, match=rf"resumes at the start of epoch {stop[0]}"):
        whole, _, after = whole_and_resumed(_by_steps, stop)
    assert after == [line for line in whole if line[0] >= stop[0]]


def test_an_evaluation_by_steps_does_not_undo_an_epoch_that_is_done():
    def program(log, stop):
        for epoch in rs.epochs(3):
            with rs.seeded(task="train", epoch=epoch):
                for step, _ in rs.steps(2):
                    log.append((epoch, step, random.random()))
            for step in range(2):
                with rs.seeded(task="eval", epoch=epoch, step=step):
                    log.append((epoch, "eval", step, random.random()))
            saving(epoch, stop)

    whole, before, after = whole_and_resumed(program, 1)
    assert before + after == whole


# --- epochs that no scope names ---------------------------------------------------------------------------------------


def test_a_scope_that_names_no_epoch_is_reported_once():
    rs.init(master_seed=2)

    def program():
        for _ in rs.epochs(4):
            with rs.seeded(task="train"):
                pass

    with pytest.warns(rs.RepeatedAddressWarning, match=r"\(task='train'\) does not name the epoch") as caught:
        program()
    assert len(caught) == 1


def test_evaluation_need_not_name_the_epoch():
    rs.init(master_seed=2)
    for epoch in rs.epochs(3):
        with rs.seeded(task="eval", restore=True):
            pass
        with rs.seeded(task="train", epoch=epoch):
            pass
        rs.state_dict()


@pytest.mark.parametrize("scoped", [True, False], ids=["scope without an epoch", "no scope"])
def test_a_save_in_an_epoch_that_no_scope_names_says_that_it_begins_anew(scoped):
    rs.init(master_seed=2)
    for epoch in rs.epochs(2):
        with rs.seeded(task="train") if scoped else contextlib.nullcontext():
            random.random()
        if epoch == 0 and scoped:
            with pytest.warns(rs.ResumeWarning, match=r"No scope has named epoch 0.*start of epoch 0"):
                rs.state_dict()
            break
    else:
        for epoch in rs.epochs(2):
            if epoch == 1:
                with pytest.warns(rs.ResumeWarning, match=r"No scope has named epoch 1"):
                    rs.state_dict()


def test_a_save_at_the_top_of_an_epoch_is_in_no_doubt():
    rs.init(master_seed=2)
    for epoch in rs.epochs(3):
        rs.state_dict()
        with rs.seeded(task="train", epoch=epoch):
            pass


# --- what of a checkpoint is not taken up -----------------------------------------------------------------------------


def _trained(log, stop, task="train", steps=6, epochs=2, loop=rs.steps):
    for epoch in rs.epochs(epochs):
        with rs.seeded(task=task, epoch=epoch):
            for step in loop(steps):
                log.append((epoch, step[0] if isinstance(step, tuple) else step))
                saving((epoch, step[0] if isinstance(step, tuple) else step), stop)


def _saved(stop):
    rs.init(master_seed=2)
    with pytest.raises(Stop) as caught:
        _trained([], stop)
    return caught.value.args[0]


def test_fewer_steps_than_were_done_are_refused():
    rs.init(resume=_saved((0, 4)))
    with pytest.raises(rs.StateMismatchError, match=r"stands at step 5 .* ended after 3"):
        _trained([], None, steps=3)


def test_a_task_that_was_renamed_is_reported():
    rs.init(resume=_saved((0, 4)))
    with pytest.warns(rs.ResumeWarning, match=r"stood inside \(epoch=0, task='train'\), which was not entered"):
        _trained([], None, task="trian")


def test_a_loop_that_does_not_count_its_steps_is_reported():
    rs.init(resume=_saved((0, 4)))
    with pytest.warns(rs.ResumeWarning, match=r"loaded position is step 5 .*no rs.steps"):
        _trained([], None, loop=range)


def test_an_error_in_the_resumed_scope_is_not_talked_over():
    rs.init(resume=_saved((0, 4)))
    with pytest.raises(ZeroDivisionError), rs.seeded(task="train", epoch=0):
        _ = 1 / 0


def test_another_batch_size_of_a_plain_loader_is_refused():
    def program(stop, batch_size):
        seen = []
        with rs.seeded(task="train", epoch=0):
            for step, batch in rs.steps(DataLoader(range(12), batch_size)):
                seen += batch.tolist()
                saving(step, stop)
        return seen

    rs.init(master_seed=2)
    with pytest.raises(Stop) as caught:
        program(1, 2)
    state = caught.value.args[0]
    rs.init(resume=state)
    assert program(None, 2) == list(range(4, 12))
    rs.init(resume=state)
    with pytest.raises(rs.StateMismatchError, match=r"batch_size 2.* 4"):
        program(None, 4)


# --- loops that end early, and loops of one name ----------------------------------------------------------------------


def test_a_loop_that_was_left_by_break_is_reported_where_its_scope_is_open():
    rs.init(master_seed=2)
    with rs.seeded(task="train", epoch=0):
        for step, _ in rs.steps(10):
            if step == 2:
                break
        with pytest.warns(rs.ResumeWarning, match=r"was left in step 2, and this checkpoint resumes at step 3"):
            rs.state_dict()
    rs.state_dict()


def test_a_handler_of_what_ended_a_loop_saves_without_doubt():
    rs.init(master_seed=2)
    with rs.seeded(task="train", epoch=0):
        try:
            for step, _ in rs.steps(10):
                if step == 2:
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            rs.state_dict()


def test_a_second_loop_of_one_name_is_reported_at_a_save():
    def loop(**coordinates):
        for epoch in rs.epochs(2, **coordinates):
            with rs.seeded(task="train", epoch=epoch, **coordinates):
                pass
            rs.state_dict()

    rs.init(master_seed=2)
    loop(stage="pre")
    loop(stage="fine")
    with pytest.warns(rs.ResumeWarning, match=r"second loop over epoch.*stage="):
        loop(stage="fine")


def test_going_back_to_a_checkpoint_in_the_same_run_is_no_second_loop():
    rs.init(master_seed=2)
    states = []
    for epoch in rs.epochs(3):
        with rs.seeded(task="train", epoch=epoch):
            pass
        states.append(rs.state_dict())
    rs.load_state_dict(states[0])
    seen = []
    for epoch in rs.epochs(3):
        seen.append(epoch)
        with rs.seeded(task="train", epoch=epoch):
            pass
        rs.state_dict()
    assert seen == [1, 2]
