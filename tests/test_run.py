"""The process's current run: beginning it, what steers it from outside, and seeders as objects."""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import random
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import reproseed as rs
from reproseed import run, stack


@pytest.fixture(autouse=True)
def no_steering(monkeypatch):
    for name in ("REPROSEED_MASTER_SEED", "REPROSEED_TASK_SEEDS", "REPROSEED_SEEDING"):
        monkeypatch.delenv(name, raising=False)


def _draws() -> tuple[float, float, float]:
    return random.random(), float(np.random.rand()), float(torch.rand(()))


def _scoped(**coordinates: Any) -> tuple[float, float, float]:
    with rs.seeded(**coordinates):
        return _draws()


def test_init_makes_a_run_and_returns_its_seeder():
    assert not rs.is_initialized()
    seeder = rs.init(master_seed=42)
    assert rs.is_initialized()
    assert seeder.get_master_seed() == rs.get_master_seed() == 42


@pytest.mark.parametrize("seed", [0, 2**64 - 1, np.uint64(7), torch.tensor(7)], ids=str)
def test_init_puts_all_generators_on_the_base_stream(seed):
    rs.init(seed)
    first = _draws()
    _draws()
    rs.init(seed)
    assert _draws() == first
    rs.init(1)
    assert _draws() != first


def test_init_twice_begins_a_new_run_without_the_generators_of_the_old_one():
    one = rs.init(1)
    generator = random.Random()
    rs.register_generator(generator, name="own")
    two = rs.init(2)
    assert run._current is two is not one
    rs.register_generator(generator, name="own")  # the name is free in the new run
    assert not two.progress.tasks


def test_init_inside_a_scope_warns_and_forgets_it():
    rs.init(1)
    message = (
        r"init\(\) while \(task='cell'\) is open: the scopes of the earlier run are forgotten and give nothing back"
    )
    with rs.seeded(task="cell", restore=True):
        with pytest.warns(rs.ScopeOrderWarning, match=message):
            rs.init(2)
        base = rs.snapshot()
        assert stack.innermost() is None
    assert rs.snapshot() == base


def test_init_that_fails_keeps_the_earlier_run_and_its_open_scopes():
    one = rs.init(1)
    with rs.seeded(task="cell") as scope:
        before = rs.snapshot()
        for wrong in ({"master_seed": -1}, {"resume": {}}, {"rank": 2, "world_size": 2}):
            with pytest.raises(rs.ReproseedError):
                rs.init(**wrong)
        with pytest.warns(rs.ScopeOrderWarning), pytest.raises(rs.StateMismatchError):
            rs.init(3, resume=one.state_dict())
        assert rs.snapshot() == before
        assert run._current is one
        assert rs.current().address == scope.address
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(rs.ScopeOrderWarning):
                rs.init(2)
        assert rs.snapshot() == before


def test_a_seed_that_is_not_given_is_drawn_and_known():
    seeds = {rs.init().get_master_seed() for _ in range(10)}
    assert len(seeds) == 10
    drawn = rs.get_master_seed()
    first = _scoped(task="train", epoch=0)
    rs.init(drawn)
    assert _scoped(task="train", epoch=0) == first


def test_init_resume_takes_the_seed_of_the_checkpoint():
    state = rs.init(8).state_dict()
    assert rs.init(resume=state).get_master_seed() == 8
    assert rs.init(resume=rs.Seeder(9).to_json()).get_master_seed() == 9
    assert rs.init(8, resume=state).get_master_seed() == 8


# --- steered from outside -------------------------------------------------------------------------------------------


def test_the_master_seed_from_the_environment_serves_where_none_is_given(monkeypatch, caplog):
    monkeypatch.setenv("REPROSEED_MASTER_SEED", "77")
    with caplog.at_level(logging.INFO, logger="reproseed"):
        assert rs.init().get_master_seed() == 77
    assert "the master seed 77 comes from REPROSEED_MASTER_SEED" in caplog.text
    assert not rs.init().drawn
    assert rs.init(5).get_master_seed() == 5


@pytest.mark.parametrize("text", ["x", "-1", str(2**64), "1.5", "0x10"])
def test_a_master_seed_from_the_environment_that_cannot_be_is_refused(monkeypatch, text):
    monkeypatch.setenv("REPROSEED_MASTER_SEED", text)
    with pytest.raises(rs.ReproseedError, match=r"REPROSEED_MASTER_SEED='.*' must be an integer in \[0, 2\*\*64\)"):
        rs.init()
    assert not rs.is_initialized()


def test_task_seeds_change_one_task_only():
    def tasks():
        return [_scoped(task=task) for task in ("init", "order", 1, "1")] + [rs.stream("s", task="init").seed()]

    rs.init(3)
    plain = tasks()
    for task, changed in (("init", {0, 4}), (1, {2}), ("1", {3})):
        rs.init(3, task_seeds={task: 7})
        assert {i for i, (one, other) in enumerate(zip(tasks(), plain, strict=True)) if one != other} == changed
    rs.init(7)
    as_seven = tasks()
    rs.init(3, task_seeds={"init": 7})
    assert tasks()[0] == as_seven[0]


def test_task_seeds_from_the_environment(monkeypatch, caplog):
    monkeypatch.setenv("REPROSEED_TASK_SEEDS", 'init=7,1=8,"1"=9')
    with caplog.at_level(logging.INFO, logger="reproseed"):
        assert rs.init(3).task_seeds == {"init": 7, 1: 8, "1": 9}
    assert "come from REPROSEED_TASK_SEEDS" in caplog.text
    assert rs.init(3, task_seeds={"x": 1}).task_seeds == {"x": 1}


@pytest.mark.parametrize("text", ["init", "init=", "init=x", "init=-1", "=", '"a=1', "a=1,,b=2", f"a={2**64}"])
def test_task_seeds_from_the_environment_that_cannot_be_are_refused(monkeypatch, text):
    monkeypatch.setenv("REPROSEED_TASK_SEEDS", text)
    with pytest.raises(rs.CoordinateTypeError, match=r"REPROSEED_TASK_SEEDS='.*' must read task=seed,task=seed"):
        rs.init(3)


UNSEEDED = """
import json, random, numpy as np, torch, reproseed as rs
def draws():
    return [random.random(), float(np.random.rand()), float(torch.rand(()))]
rs.init(5)
own = random.Random(1)
rs.register_generator(own, name="own")
seen = [draws()]
with rs.seeded(task="train", epoch=0):
    seen.append(draws())
    for step, _ in rs.steps(2):
        seen.append(draws())
rs.reseed(0)
seen.append(draws())
@rs.seeded_epoch
def train(epoch):
    return draws()
seen.append(train(0))
rs.load_state_dict(rs.state_dict())
seen.append(draws())
print(json.dumps([seen, own.random(), rs.get_master_seed()]))
"""


def test_two_unseeded_processes_differ_in_all_three_libraries():
    """The control of every comparison: the same script, and nothing is seeded."""

    def once(seeding):
        env = os.environ | {"REPROSEED_SEEDING": seeding}
        done = subprocess.run([sys.executable, "-c", UNSEEDED], env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    (one, own, seed), (other, _, _) = once("off"), once("off")
    for first, second in zip(one, other, strict=True):
        assert all(x != y for x, y in zip(first, second, strict=True))
    assert len({str(row) for row in one}) == len(one)
    assert own == random.Random(1).random()  # not even a registered generator
    assert seed == 5
    assert once("on") == once("on")


def test_unseeded_says_so_and_puts_nothing_back(monkeypatch, caplog):
    state = rs.init(5).state_dict()
    monkeypatch.setenv("REPROSEED_SEEDING", "off")
    with caplog.at_level(logging.WARNING, logger="reproseed"):
        rs.init(5)
    assert "REPROSEED_SEEDING=off: scopes pass through and nothing is seeded" in caplog.text
    before = rs.snapshot()
    rs.load_state_dict(state)
    assert rs.snapshot() == before
    with rs.seeded(task="x", restore=True):
        assert rs.snapshot() == before
        random.random()
    assert rs.snapshot().differs(before) == ["python"]


def test_another_value_of_seeding_is_refused(monkeypatch):
    monkeypatch.setenv("REPROSEED_SEEDING", "no")
    with pytest.raises(rs.CoordinateTypeError, match="REPROSEED_SEEDING='no': allowed are 'on' and 'off'"):
        rs.init(5)


def test_devices_takes_two_words():
    assert rs.init(1, devices="distinct").registry.distinct
    with pytest.raises(rs.CoordinateTypeError, match=r"init\(devices='all'\): allowed are 'same' and 'distinct'"):
        rs.init(1, devices="all")  # type: ignore[arg-type]


# --- seeders as objects ---------------------------------------------------------------------------------------------


def test_making_a_seeder_touches_nothing():
    before = rs.snapshot()
    rs.Seeder(7)
    assert rs.snapshot() == before
    assert not rs.is_initialized()


def test_a_seeder_is_bound_to_itself_and_shares_the_stack():
    current, other = rs.init(1), rs.Seeder(2)
    with current.seeded(task="x"):
        first = _draws()
    assert _scoped(task="x") == first
    with other.seeded(task="x"):
        assert _draws() != first
        assert dict(rs.current().address) == {"task": "x"}
        with rs.seeded(task="x"):  # inside the other's scope, of the current run
            assert _draws() == first
    assert other.get_master_seed() == 2
    assert other.stream("s").seed() != current.stream("s").seed() == rs.stream("s").seed()


def test_a_seeder_serves_decorated_functions_epochs_and_steps_without_init():
    seeder = rs.Seeder(2)

    @seeder.seeded(task="x")
    def draw():
        return _draws()

    assert draw() == draw()
    for epoch in seeder.epochs(1):
        with seeder.seeded(task="train", epoch=epoch):
            assert [step for step, _ in seeder.steps(2)] == [0, 1]
    assert seeder.state_dict()["position"]["epochs"][0]["start"] == 1
    assert not rs.is_initialized()


def _child(seeder: rs.Seeder, queue: Any) -> None:
    with seeder.seeded(task="train", epoch=3):
        queue.put((_draws(), rs.is_initialized(), seeder.registry.distinct, seeder.task_seeds, seeder.derivation))


@pytest.mark.slow
def test_a_seeder_can_be_pickled_into_a_spawned_child():
    seeder = rs.init(2**63, rank=2, world_size=4, task_seeds={"train": 9}, devices="distinct")
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=_child, args=(seeder, queue))
    child.start()
    drawn, initialized, distinct, task_seeds, derivation = queue.get(timeout=120)
    child.join(60)
    assert child.exitcode == 0
    assert drawn == _scoped(task="train", epoch=3)
    assert (initialized, distinct, task_seeds, derivation) == (False, True, {"train": 9}, 1)


def _noise() -> float:
    """Draw as a library would: in the user's run if there is one, else on a seed of its own."""
    scope = (
        rs.seeded(task="lib", restore=True)
        if rs.is_initialized()
        else rs.seeded(master_seed=0, task="lib", restore=True)
    )
    with scope:
        return random.random()


def test_a_library_works_with_and_without_a_run():
    before = rs.snapshot()
    assert _noise() == _noise()
    assert rs.snapshot() == before
    alone = _noise()
    rs.init(5)
    before = rs.snapshot()
    assert _noise() == _noise() != alone
    assert rs.snapshot() == before


def test_what_needs_a_run_says_what_to_call():
    message = r"No run: call rs\.init\(master_seed=\.\.\.\) first, or give this scope master_seed=\.\.\. \."
    for call in (
        rs.get_master_seed,
        rs.state_dict,
        lambda: rs.reseed(0),
        lambda: rs.stream("x"),
        lambda: rs.epochs(1),
        lambda: rs.register_generator(random.Random()),
        lambda: rs.load_state_dict({}),
        lambda: _scoped(task="x"),
    ):
        with pytest.raises(rs.NotInitializedError, match=message):
            call()


def test_a_forked_child_has_no_run():
    rs.init(1)
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads
        child = os.fork()
    if child == 0:
        try:
            rs.reseed(1)
        except rs.NotInitializedError as error:
            os._exit(7 if not rs.is_initialized() and "seed_child" in str(error) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert rs.is_initialized()


def test_an_unknown_mode_of_watching_leaves_no_run_and_no_flags_behind(monkeypatch):
    monkeypatch.setenv("REPROSEED_WATCH", "foo")
    before = rs.snapshot()
    with pytest.raises(rs.CoordinateTypeError, match=r"REPROSEED_WATCH='foo': allowed are 'warn' and 'error'"):
        rs.init(master_seed=123, deterministic="error")
    assert not rs.is_initialized()
    assert not torch.are_deterministic_algorithms_enabled()
    assert before.moved() == []


def test_a_task_seed_out_of_range_is_named():
    with pytest.raises(rs.SeedRangeError, match=r"task_seeds\['init'\]=-1 is out of range"):
        rs.init(master_seed=1, task_seeds={"init": -1})


def test_a_seed_of_the_environment_that_a_checkpoint_contradicts_is_named(monkeypatch):
    rs.init(master_seed=1)
    state = rs.state_dict()
    monkeypatch.setenv("REPROSEED_MASTER_SEED", "5")
    with pytest.raises(rs.StateMismatchError, match=r"unset REPROSEED_MASTER_SEED=5"):
        rs.init(resume=state)


def test_a_whole_checkpoint_in_place_of_its_part_names_the_part():
    rs.init(master_seed=1)
    state = {"model": {}, "rng": rs.state_dict()}
    with pytest.raises(rs.StateError, match=r"Pass its part \['rng'\]"):
        rs.init(resume=state)
    with pytest.raises(rs.StateError, match=r"begins with 'run.pt'; a file is to be read first"):
        rs.init(resume="run.pt")
