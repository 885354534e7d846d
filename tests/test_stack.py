"""The open scopes: any order of closing, threads, tasks, forked children, recomputation in a backward pass."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import itertools
import os
import random
import sys
import threading
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from labels import label

import reproseed as rs
from reproseed import stack


def draws() -> tuple[object, ...]:
    return random.random(), float(np.random.random()), float(torch.rand(()))


@pytest.fixture
def run():
    return rs.init(master_seed=12)


# --- order ----------------------------------------------------------------------------------------------------


def _close_in(order: tuple[int, ...], flags: tuple[bool | None, ...]) -> bytes:
    """Open one scope per flag, close them in an order, and return Python's final state.

    The other libraries' states are put back by the same snapshots, so one of them tells the order.
    """
    scopes = [rs.seeded(task="t", epoch=i, restore=flag) for i, flag in enumerate(flags)]
    random.seed(99)
    for scope in scopes:
        scope.__enter__()
        random.random()
    for index in order:
        scopes[index].__exit__(None, None, None)
    assert stack.innermost() is None
    return repr(random.getstate()).encode()


@pytest.mark.parametrize("n", [2, 3, 4, pytest.param(5, marks=pytest.mark.slow)])
def test_closing_in_any_order_ends_as_last_in_first_out(run, monkeypatch, n):
    from reproseed.sources.python import PythonSource

    # Python's generator alone: 4,280 permutations of up to five scopes in seconds.
    run.registry._own = [PythonSource()]
    tried = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rs.ScopeOrderWarning)
        for flags in itertools.product((True, False), repeat=n):
            expected = _close_in(tuple(reversed(range(n))), flags)
            for order in itertools.permutations(range(n)):
                assert _close_in(order, flags) == expected, (order, flags)
                tried += 1
    assert tried == {2: 8, 3: 48, 4: 384, 5: 3840}[n]


@pytest.mark.parametrize("flags", list(itertools.product((True, False, None), repeat=3)), ids=label)
def test_closing_in_any_order_ends_as_last_in_first_out_in_every_library(run, flags):
    own = random.Random()
    rs.register_generator(own, name="own")

    def final(order):
        torch.manual_seed(1), np.random.seed(1), random.seed(1), own.seed(1)
        np.random.normal()
        scopes = [rs.seeded(task="t", epoch=i, restore=flag) for i, flag in enumerate(flags)]
        for scope in scopes:
            scope.__enter__()
            draws(), own.random(), np.random.normal()
        for index in order:
            scopes[index].__exit__(None, None, None)
        return rs.snapshot()

    expected = final((2, 1, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rs.ScopeOrderWarning)
        for order in itertools.permutations(range(3)):
            assert final(order) == expected, order


@pytest.mark.parametrize("n", [2, 3])
def test_only_closing_out_of_order_warns(run, n):
    for order in itertools.permutations(range(n)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _close_in(order, (True,) * n)
        late = sum(any(other > index for other in order[place + 1 :]) for place, index in enumerate(order))
        assert [w.category for w in caught] == [rs.ScopeOrderWarning] * late


def test_a_scope_with_an_inherited_target_restores_it_even_with_restore_false_and_keeps_before(run):
    draws()
    start = rs.snapshot()
    one, two = rs.seeded(task="a", restore=True), rs.seeded(task="b", restore=False)
    one.__enter__()
    draws()
    middle = rs.snapshot()
    scope = two.__enter__()
    draws()
    inside = rs.snapshot()
    with pytest.warns(rs.ScopeOrderWarning, match=r"given back when \(task='b'\) closes"):
        one.__exit__(None, None, None)
    assert rs.snapshot() == inside
    assert scope.before == middle
    two.__exit__(None, None, None)
    assert rs.snapshot() == start


def test_init_clears_leftovers_says_so_and_their_late_exit_touches_nothing(run):
    scope = rs.seeded(task="left", restore=True)
    scope.__enter__()
    with pytest.warns(rs.ScopeOrderWarning, match=r"init\(\) while \(task='left'\) is open"):
        seeder = rs.init(master_seed=13)
    draws()
    before = rs.snapshot()
    scope.__exit__(None, None, None)
    assert rs.snapshot() == before
    assert not dict(seeder.base)


# --- threads --------------------------------------------------------------------------------------------------


def in_thread(function):
    """Run a function in a plain thread; return its result or raise its error."""
    outcome = []

    def target():
        try:
            outcome.append((function(), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=target, name="second")
    thread.start()
    thread.join(30)
    result, error = outcome[0]
    if error is not None:
        raise error
    return result


def enter(task="x"):
    with rs.seeded(task=task, restore=True):
        return draws()


def test_a_plain_second_thread_is_refused_while_a_scope_is_open_and_nothing_changes(run):
    with rs.seeded(task="main", epoch=0):
        before = rs.snapshot()
        with pytest.raises(rs.ConcurrentScopeError) as caught:
            in_thread(enter)
        assert str(caught.value) == (
            "cannot enter (task='x'): thread 'MainThread' is inside (epoch=0, task='main'), and the global generators "
            "belong to the whole process. Draw from rs.stream(...), which each thread may do, or hand this scope over "
            "with contextvars.copy_context().run(...)."
        )
        assert rs.snapshot() == before
    expected = enter()
    assert in_thread(enter) == expected


@pytest.mark.parametrize("call", ["reseed", "preserved", "driven"])
def test_a_second_thread_is_refused_in_every_form(run, call):
    @rs.seeded(task="d")
    def driven():
        yield draws()

    def attempt():
        if call == "reseed":
            rs.reseed("x")
        elif call == "preserved":
            with rs.preserved():
                pass
        else:
            next(driven())

    with rs.seeded(task="main"):
        before = rs.snapshot()
        with pytest.raises(rs.ConcurrentScopeError):
            in_thread(attempt)
        assert rs.snapshot() == before


def test_the_main_thread_is_refused_while_a_second_one_is_inside(run):
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with rs.seeded(task="held", restore=True):
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=hold, name="holder")
    thread.start()
    assert inside.wait(30)
    try:
        with pytest.raises(rs.ConcurrentScopeError, match="thread 'holder' is inside"):
            enter()
    finally:
        leave.set()
        thread.join(30)
    enter()


def test_what_a_dead_thread_left_open_is_no_obstacle(run):
    in_thread(rs.seeded(task="left").__enter__)
    assert stack.innermost() is not None
    with rs.seeded(task="x") as scope:
        assert scope.address["task"] == "x"
    stack.clear()


def test_a_copied_context_hands_the_scope_over(run):
    with rs.seeded(task="main", fold=3):
        expected = enter()
        context = contextvars.copy_context()
        assert in_thread(lambda: context.run(enter)) == expected
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(contextvars.copy_context().run, enter).result(30) == expected


def test_threads_may_draw_from_streams_at_any_time(run):
    expected = rs.stream("noise", epoch=1).python_random().random()
    with rs.seeded(task="main"), ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(lambda: rs.stream("noise", epoch=1).python_random().random()) for _ in range(16)]
        assert {job.result(30) for job in jobs} == {expected}


def test_a_scope_with_a_seed_of_its_own_does_not_show_through_in_another_threads_streams(run):
    expected = rs.stream("noise").seed()
    with rs.seeded(master_seed=99):
        assert rs.stream("noise").seed() != expected
        assert in_thread(lambda: rs.stream("noise").seed()) == expected


def test_many_threads_racing_for_scopes_are_refused_or_right_and_never_mixed(run):
    expected = enter()
    before = rs.snapshot()
    start = threading.Barrier(4)

    def attempt():
        start.wait(30)
        results = []
        for _ in range(30):
            try:
                results.append(enter())
            except rs.ConcurrentScopeError:
                results.append(None)
        return results

    with ThreadPoolExecutor(4) as pool:
        done = [job.result(60) for job in [pool.submit(attempt) for _ in range(4)]]
    flat = [one for results in done for one in results if one is not None]
    assert flat
    assert set(flat) == {expected}
    assert rs.snapshot() == before


# --- asyncio --------------------------------------------------------------------------------------------------


async def enter_and_wait(task="x", seconds=0.0):
    with rs.seeded(task=task, restore=True):
        first = draws()
        await asyncio.sleep(seconds)
        return first, draws()


def test_asyncio_run_in_a_scope_and_its_tasks_may_enter(run):
    async def main():
        one = await enter_and_wait()
        two = await asyncio.create_task(enter_and_wait())
        three = await asyncio.wait_for(enter_and_wait(), 30)
        four = await asyncio.to_thread(enter)
        return one, two, three, four

    with rs.seeded(task="outer"):
        before = rs.snapshot()
        one, two, three, four = asyncio.run(main())
        assert rs.snapshot() == before
    assert one == two == three
    assert four == one[0]


def test_a_scope_inside_a_coroutine_is_known_to_the_tasks_it_starts(run):
    async def main():
        with rs.seeded(task="outer"):
            one = await asyncio.create_task(enter_and_wait())
            two = await asyncio.wait_for(enter_and_wait(), 30)
            three = await asyncio.to_thread(enter)
            return one, two, three

    one, two, three = asyncio.run(main())
    assert one == two
    assert three == one[0]


def test_gather_with_scopes_across_awaits_is_refused(run):
    async def main():
        with rs.seeded(task="outer"):
            before = rs.snapshot()
            results = await asyncio.gather(enter_and_wait("a", 0.01), enter_and_wait("b", 0.01), return_exceptions=True)
            assert rs.snapshot() == before
            return results

    one, two = asyncio.run(main())
    assert one[0] != one[1]
    assert isinstance(two, rs.ConcurrentScopeError)
    assert "is inside (task='a')" in str(two)
    assert "task 'Task-" in str(two)


def test_gather_with_decorated_coroutines_is_right(run):
    @rs.seeded(task=rs.arg("task"))
    async def work(task):
        first = draws()
        await asyncio.sleep(0.005)
        return first, draws()

    async def main():
        alone = [await work(task) for task in range(4)]
        return alone, list(await asyncio.gather(*map(work, range(4))))

    before = rs.snapshot()
    alone, together = asyncio.run(main())
    assert alone == together
    assert rs.snapshot() == before


@pytest.mark.skipif(sys.version_info < (3, 11), reason="asyncio.TaskGroup came with Python 3.11")
def test_a_task_group_of_decorated_coroutines_is_right_and_of_open_scopes_is_refused(run):
    @rs.seeded(task=rs.arg("task"))
    async def work(task):
        first = draws()
        await asyncio.sleep(0)
        return first, draws()

    async def main():
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work(i)) for i in range(3)]
        with pytest.raises(ExceptionGroup) as caught:  # noqa: F821, PT012 - Python 3.11; the group's block is what raises
            async with asyncio.TaskGroup() as group:
                group.create_task(enter_and_wait("a", 0.01))
                group.create_task(enter_and_wait("b", 0.01))
        assert [type(e) for e in caught.value.exceptions] == [rs.ConcurrentScopeError]
        return [task.result() for task in tasks], [await work(i) for i in range(3)]

    before = rs.snapshot()
    one, two = asyncio.run(main())
    assert one == two
    assert rs.snapshot() == before


def test_a_finished_tasks_leftover_is_no_obstacle(run):
    async def leave_open():
        rs.seeded(task="left").__enter__()

    asyncio.run(leave_open())
    with rs.seeded(task="x"):
        pass
    stack.clear()


def test_the_parents_exit_before_its_tasks_ends_as_last_in_first_out(run):
    async def main():
        with rs.seeded(task="outer", restore=True):
            draws()
            child = asyncio.create_task(enter_and_wait("inner", 0.01))
            await asyncio.sleep(0)
        await child

    draws()
    before = rs.snapshot()
    with pytest.warns(rs.ScopeOrderWarning):
        asyncio.run(main())
    assert rs.snapshot() == before


def test_long_lived_contexts_keep_no_closed_scopes(run):
    async def main():
        for _ in range(50):
            with rs.seeded(task="outer"):
                await asyncio.create_task(enter_and_wait())
        return stack._chain.get()

    assert asyncio.run(main()) is None
    assert stack._chain.get() is None


# --- forked children ------------------------------------------------------------------------------------------


def in_child(function) -> None:
    """Run a function in a forked child and fail with its traceback."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forking with threads
        pid = os.fork()
    if pid == 0:
        status = 1
        try:
            function()
            status = 0
        except BaseException:
            os.write(write, traceback.format_exc().encode()[:60000])
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read) as stream:
        text = stream.read()
    _, status = os.waitpid(pid, 0)
    assert status == 0, text


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")


@needs_fork
def test_inherited_scopes_are_the_childs_own_and_give_back_at_exit(run):
    before = rs.snapshot()
    scope = rs.seeded(task="outer", restore=True)
    scope.__enter__()

    def child():
        assert not rs.is_initialized()
        entry = stack.innermost()
        assert entry.inherited
        assert entry.thread is threading.current_thread()
        with rs.preserved():
            draws()
        scope.__exit__(None, None, None)
        assert stack.innermost() is None
        assert rs.snapshot() == before

    in_child(child)
    scope.__exit__(None, None, None)
    assert rs.snapshot() == before


@needs_fork
def test_a_child_has_no_run_and_is_told_so(run):
    def child():
        with contextlib.suppress(rs.NotInitializedError):
            rs.seeded(task="x").__enter__()
            raise AssertionError("entered")
        with rs.seeded(master_seed=3):
            draws()

    with rs.seeded(task="outer"):
        in_child(child)
    in_child(child)


@needs_fork
def test_a_child_forked_by_a_second_thread_may_enter_a_run_of_its_own(run):
    def child():
        rs.init(master_seed=1)
        with rs.seeded(task="x"):
            pass

    def fork():
        in_child(child)

    with rs.seeded(task="main"):
        in_thread(fork)
        draws()


# --- autograd -------------------------------------------------------------------------------------------------


class Recomputing(torch.autograd.Function):
    """Enters a scope in the backward pass, as recomputation does."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        with rs.seeded(task="block", restore=True):
            return grad * torch.rand(())


@pytest.mark.parametrize("multithreading", [True, False])
def test_recomputation_in_a_backward_pass_may_enter_wherever_it_runs(run, multithreading):
    with rs.seeded(task="block"):
        expected = torch.rand(())
    x = torch.ones((), requires_grad=True)
    with torch.autograd.set_multithreading_enabled(multithreading), rs.seeded(task="train"):
        before = rs.snapshot()
        Recomputing.apply(x).backward()
        assert rs.snapshot() == before
    assert torch.equal(x.grad, expected)


def test_a_backward_pass_in_a_second_thread_may_recompute_while_the_main_thread_is_inside(run):
    with rs.seeded(task="block"):
        expected = torch.rand(())
    x = torch.ones((), requires_grad=True)
    with rs.seeded(task="train"):
        before = rs.snapshot()
        in_thread(Recomputing.apply(x).backward)
        assert rs.snapshot() == before
    assert torch.equal(x.grad, expected)
