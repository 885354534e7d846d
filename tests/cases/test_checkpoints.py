"""Cases of section D: what the checkpoint holds. Case 25 on real ranks: tests/distributed/test_case_ranks.py."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch

import reproseed as rs
from reproseed.state import seal, unseal


def _draws() -> tuple[float, ...]:
    return random.random(), random.gauss(0, 1), float(np.random.rand()), np.random.randn(), float(torch.rand(()))


def _run() -> list[Any]:
    """Begin a run with a generator of every library registered; return them, since they are held weakly."""
    rs.init(master_seed=6)
    generators: list[Any] = [random.Random(), np.random.default_rng(), np.random.RandomState(), torch.Generator()]
    for number, generator in enumerate(generators):
        rs.register_generator(generator, name=f"own {number}")
    return generators


def test_case_21_the_safe_loader_takes_a_full_state_and_what_was_altered_is_named(tmp_path):
    generators = _run()
    _draws()
    torch.save({"rng": rs.state_dict()}, tmp_path / "run.pt")
    following = _draws(), generators[1].random(), float(torch.rand((), generator=generators[3]))
    state = torch.load(tmp_path / "run.pt")["rng"]
    generators = _run()
    rs.load_state_dict(state)
    assert (_draws(), generators[1].random(), float(torch.rand((), generator=generators[3]))) == following
    before = rs.snapshot()
    for name in list(state):
        with pytest.raises(rs.StateError, match=f"'{name}'"):
            rs.load_state_dict({key: value for key, value in state.items() if key != name})
    for name in state["snapshot"]:
        altered = state | {"snapshot": {key: value for key, value in state["snapshot"].items() if key != name}}
        with pytest.raises(rs.StateError, match="part 'snapshot' is damaged"):
            rs.load_state_dict(altered)
    assert rs.snapshot() == before


def test_case_22_a_state_that_helpers_moved_or_cast_loads_and_a_meta_one_is_refused():
    _run_kept = _run()
    with torch.device("meta"):
        state = rs.state_dict()
    following = _draws()

    def cast(value: Any, change: Any) -> Any:
        if isinstance(value, dict):
            return {key: cast(item, change) for key, item in value.items()}
        if isinstance(value, list):
            return [cast(item, change) for item in value]
        return change(value) if isinstance(value, torch.Tensor) else value

    for dtype in (torch.uint8, torch.float32, torch.float16, torch.bfloat16):
        rs.load_state_dict(cast(state, lambda tensor, dtype=dtype: tensor.to(dtype)))
        assert _draws() == following
    with pytest.raises(rs.StateError, match="lies on the meta device, which holds no data"):
        rs.load_state_dict(cast(state, lambda tensor: tensor.to("meta")))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_case_24_a_state_inside_optimizer_state_is_refused_with_what_to_do(dtype):
    """Optimizer.load_state_dict casts tensors, which could be undone, and rewrites texts, which cannot."""
    _kept = _run()
    parameter = torch.nn.Parameter(torch.ones(2, dtype=dtype))
    optimizer = torch.optim.SGD([parameter], lr=0.1, momentum=0.9)
    optimizer.state[parameter]["rng"] = rs.state_dict()
    saved = optimizer.state_dict()
    other = torch.nn.Parameter(torch.ones(2, dtype=dtype))
    loaded = torch.optim.SGD([other], lr=0.1, momentum=0.9)
    loaded.load_state_dict(saved)
    before = rs.snapshot()
    with pytest.raises(
        rs.StateError, match=r"rewritten by Optimizer\.load_state_dict\(\).*beside the optimizer's state"
    ):
        rs.load_state_dict(loaded.state[other]["rng"])
    assert rs.snapshot() == before


@pytest.mark.parametrize(("rank", "world"), [(0, 1), (0, 3), (1, 3), (2, 3)])
def test_case_25_another_number_of_ranks(rank, world):
    """A rank that did not exist gets the streams that it would have had from the start."""

    def epoch(number: int) -> tuple[float, ...]:
        with rs.seeded(task="train", epoch=number):
            return _draws()

    rs.init(5, rank=0, world_size=2)
    for number in rs.epochs(1):
        epoch(number)
    state = rs.state_dict()
    expected = {}
    for one in range(3):
        rs.init(5, rank=one, world_size=3)
        expected[one] = epoch(1)
    assert len(set(expected.values())) == 3
    rs.init(resume=state, rank=rank, world_size=world)
    assert [epoch(number) for number in rs.epochs(2)] == [expected[rank]]


def test_case_25_states_of_devices_that_are_not_here_raise_or_are_reported():
    rs.init(5)
    parts = unseal(rs.state_dict())
    parts["snapshot"]["torch.npu"] = {"devices": [b"0" * 16, b"1" * 16]}
    state = seal(parts)
    following = _draws()
    message = "Checkpoint holds the states of torch.npu, which this process does not have"
    with pytest.raises(rs.StateMismatchError, match=message):
        rs.load_state_dict(state)
    with pytest.warns(rs.ResumeWarning, match=message):
        rs.load_state_dict(state, strict=False)
    assert _draws() == following
