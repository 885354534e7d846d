"""`RunState` and `read_state` in one process; several ranks are in tests/distributed/test_checkpoint.py."""

from __future__ import annotations

import json
import random
import warnings

import pytest
import torch

pytest.importorskip("torch.distributed.checkpoint", reason="this torch has no torch.distributed")
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.stateful import Stateful

import reproseed as rs
from reproseed.integrations.distributed import RunState, read_state
from reproseed.state import from_json


@pytest.fixture(autouse=True)
def _alone():
    # The library remarks at each save and load that there is no process group.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*torch.distributed is (disabled|unavailable)", category=UserWarning)
        warnings.filterwarnings("ignore", message="TypedStorage is deprecated", category=UserWarning)  # torch 2.4's own
        yield


def _save(folder, **keywords):
    """Save in the middle of an epoch; return what is drawn after it."""
    drawn = []
    for epoch in rs.epochs(2):
        with rs.seeded(task="train", epoch=epoch):
            for step, _ in rs.steps(3):
                drawn.append((epoch, step, random.random()))
                if (epoch, step) == (0, 1):
                    dcp.save({"rng": RunState(**keywords)}, checkpoint_id=folder)
                    drawn.clear()
    return drawn


def _go_on():
    drawn = []
    for epoch in rs.epochs(2):
        with rs.seeded(task="train", epoch=epoch):
            drawn += [(epoch, step, random.random()) for step, _ in rs.steps(3)]
    return drawn


def test_it_is_a_stateful():
    assert isinstance(RunState(), Stateful)


def test_a_run_goes_on_after_dcp_load(tmp_path):
    rs.init(1)
    expected = _save(tmp_path)
    for saved in (None, tmp_path, str(tmp_path), dcp.FileSystemReader(tmp_path)):
        rs.init(1)
        random.random()
        dcp.load({"rng": RunState(saved=saved)}, checkpoint_id=tmp_path)
        assert _go_on() == expected


def test_a_run_begins_with_what_read_state_returns(tmp_path):
    rs.init()
    expected = _save(tmp_path)
    seed = rs.get_master_seed()
    state = read_state(tmp_path)
    assert json.loads(state)["rank"] == 0
    rs.init(resume=state)
    assert rs.get_master_seed() == seed
    assert _go_on() == expected


def test_the_seeder_may_be_another_than_the_current_run(tmp_path):
    seeder = rs.Seeder(3)
    rs.init(1)
    dcp.save({"rng": RunState(seeder)}, checkpoint_id=tmp_path)
    assert from_json(read_state(tmp_path))["master_seed"] == 3


def test_a_rank_that_was_not_there_gets_what_all_have_in_common(tmp_path):
    rs.init(1)
    expected = _save(tmp_path)
    state = from_json(read_state(tmp_path, rank=7))
    assert (state["rank"], state["snapshot"], state["scopes"], state["coordinates"]) == (-1, {}, [], {})
    rs.init(1, rank=7, world_size=8, resume=state)
    drawn = _go_on()
    assert [place[:2] for place in drawn] == [place[:2] for place in expected]
    assert not {value for *_, value in drawn} & {value for *_, value in expected}


def test_an_asynchronous_save_holds_the_state_of_its_call(tmp_path):
    rs.init(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1)
    try:
        base = random.getstate()
        future = dcp.async_save({"rng": RunState()}, checkpoint_id=tmp_path / "saved")
        random.random()
        future.result()
        rs.load_state_dict(read_state(tmp_path / "saved"))
        assert random.getstate() == base
    finally:
        torch.distributed.destroy_process_group()


def test_a_checkpoint_without_an_entry_is_refused_with_what_it_holds(tmp_path):
    dcp.save({"model": {"weight": torch.ones(1)}, "step": 3}, checkpoint_id=tmp_path)
    wanted = "has no 'rng' of reproseed; it holds model, step. Save it with {\"rng\": RunState()}, or pass key="
    with pytest.raises(rs.StateError) as error:
        read_state(tmp_path)
    assert wanted in str(error.value)
    rs.init(1)
    with pytest.raises(rs.StateError) as error:
        RunState(saved=tmp_path).state_dict()
    assert wanted in str(error.value)


def test_another_key_is_found_by_its_name(tmp_path):
    rs.init(4)
    dcp.save({"streams": RunState(key="streams")}, checkpoint_id=tmp_path)
    assert from_json(read_state(tmp_path, key="streams"))["master_seed"] == 4


def test_entries_that_are_none_of_its_own_are_refused():
    rs.init(1)
    with pytest.raises(rs.StateError, match=r"entries for reproseed are \['rank-3'\]; 'rank-0' or 'common' is needed"):
        RunState().load_state_dict({"rank-3": "{}"})


def test_a_foreign_seed_is_refused_through_dcp_load(tmp_path):
    rs.init(1)
    _save(tmp_path)
    rs.init(2)
    before = rs.snapshot()
    with pytest.raises(Exception, match="Checkpoint has master seed 1, this run 2"):
        dcp.load({"rng": RunState(saved=tmp_path)}, checkpoint_id=tmp_path)
    assert rs.snapshot() == before
