"""Section H of the cases: threads and async."""

from __future__ import annotations

import asyncio
import contextvars
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import reproseed as rs


@pytest.fixture
def run():
    return rs.init(master_seed=46)


def draws() -> tuple[float, ...]:
    return random.random(), float(np.random.random()), float(torch.rand(()))


def solo(task):
    with rs.seeded(task=task, restore=True):
        return [draws() for _ in range(3)]


def test_case_46_two_threads_that_meet_inside_are_refused_or_equal_their_solo_runs(run):
    expected = {task: solo(task) for task in (1, 2)}
    barrier = threading.Barrier(2)
    first_done = threading.Event()

    def experiment(task):
        barrier.wait(30)
        try:
            with rs.seeded(task=task, restore=True):
                first_done.wait(0.2)  # long enough for the other to try
                return [draws() for _ in range(3)]
        except rs.ConcurrentScopeError as error:
            first_done.set()
            return str(error)

    with ThreadPoolExecutor(2) as pool:
        results = dict(zip((1, 2), pool.map(experiment, (1, 2)), strict=True))
    refused = [result for result in results.values() if isinstance(result, str)]
    assert len(refused) == 1
    assert "the global generators belong to the whole process" in refused[0]
    for task, result in results.items():
        assert isinstance(result, str) or result == expected[task]


def test_case_46_explicit_generators_give_every_thread_its_solo_run(run):
    def experiment(task):
        stream = rs.stream("experiment", trial=task)
        one, two, three = stream.python_random(), stream.numpy_generator(), stream.torch_generator()
        return [(one.random(), float(two.random()), float(torch.rand((), generator=three))) for _ in range(50)]

    alone = [experiment(task) for task in range(4)]
    with rs.seeded(task="main"), ThreadPoolExecutor(4) as pool:
        assert list(pool.map(experiment, range(4))) == alone


def test_case_46_while_main_is_inside_a_thread_is_refused_and_main_draws_as_alone(run):
    expected = solo("main")
    errors = []

    def intrude():
        try:
            with rs.seeded(task="other"):
                draws()
        except rs.ConcurrentScopeError as error:
            errors.append(error)

    with rs.seeded(task="main", restore=True):
        seen = [draws()]
        thread = threading.Thread(target=intrude)
        thread.start()
        thread.join(30)
        seen += [draws(), draws()]
    assert len(errors) == 1
    assert seen == expected


def test_case_46_handed_over_the_scope_is_the_threads_to_use(run):
    expected = solo("part")
    with rs.seeded(task="main"), ThreadPoolExecutor(1) as pool:
        context = contextvars.copy_context()
        assert pool.submit(context.run, solo, "part").result(30) == expected


def test_case_46_tasks_that_interleave_are_refused_with_blocks_and_right_when_decorated(run):
    async def block(task):
        with rs.seeded(task=task, restore=True):
            seen = []
            for _ in range(3):
                seen.append(draws())
                await asyncio.sleep(0.005)
            return seen

    @rs.seeded(task=rs.arg("task"))
    async def decorated(task):
        seen = []
        for _ in range(3):
            seen.append(draws())
            await asyncio.sleep(0)
        return seen

    async def main():
        blocks = await asyncio.gather(block(1), block(2), return_exceptions=True)
        return blocks, await asyncio.gather(decorated(1), decorated(2))

    before = rs.snapshot()
    (first, second), right = asyncio.run(main())
    assert first == solo(1)
    assert isinstance(second, rs.ConcurrentScopeError)
    assert right == [solo(1), solo(2)]
    assert rs.snapshot() == before
