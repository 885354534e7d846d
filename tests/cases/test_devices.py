"""Cases of section I, and of section D those about state tensors: devices, default devices, casts."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import warnings

import fakes
import numpy as np
import pytest
import torch

import reproseed as rs
from reproseed.errors import StateError

torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)  # the first one sets variables in the environment


def draw():
    return random.random(), np.random.random_sample(), torch.rand(1, dtype=torch.float64, device="cpu").item()


def map_tensors(function, value):
    if isinstance(value, dict):
        return {key: map_tensors(function, item) for key, item in value.items()}
    if isinstance(value, list):
        return [map_tensors(function, item) for item in value]
    return function(value) if isinstance(value, torch.Tensor) else value


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64], ids=str)
def test_case_24_states_that_were_cast_come_back_without_loss(dtype):
    rs.init(1)
    draw()
    state = rs.state_dict()
    expected = draw()
    rs.load_state_dict(map_tensors(lambda t: t.to(dtype), state))
    assert draw() == expected


def test_case_24_a_snapshot_of_states_inside_optimizer_state_is_cast_and_comes_back():
    rs.init(1)
    parameter = torch.nn.Parameter(torch.zeros(2, dtype=torch.float16))
    optimizer = torch.optim.SGD([parameter], lr=0.1, momentum=0.9)
    state = rs.state_dict()
    optimizer.state[parameter] = {"rng": {"snapshot": state["snapshot"]}}
    expected = draw()
    other = torch.optim.SGD([parameter], lr=0.1, momentum=0.9)
    other.load_state_dict(optimizer.state_dict())
    cast = other.state[parameter]["rng"]["snapshot"]
    assert _tensors(cast)[0].dtype == torch.float16
    rs.load_state_dict(state | {"snapshot": cast})
    assert draw() == expected


def test_case_24_a_whole_checkpoint_inside_optimizer_state_is_refused_saying_where_to_keep_it():
    """Torch replaces each text in an optimizer's state by the description of a generator: nothing can bring it back."""
    rs.init(1)
    parameter = torch.nn.Parameter(torch.zeros(2))
    optimizer = torch.optim.SGD([parameter], lr=0.1, momentum=0.9)
    optimizer.state[parameter] = {"rng": rs.state_dict()}
    optimizer.load_state_dict(optimizer.state_dict())
    with pytest.raises(StateError, match=r"rewritten by Optimizer.*beside the optimizer's state"):
        rs.load_state_dict(optimizer.state[parameter]["rng"])


def test_case_24_a_cast_that_lost_bits_is_refused_naming_the_dtype():
    rs.init(1)
    state = map_tensors(lambda t: t.to(torch.float32) / 2, rs.state_dict())
    before = rs.snapshot()
    with pytest.raises(StateError, match=r"a tensor of torch.float32 with values that are no bytes; states are uint8"):
        rs.load_state_dict(state)
    assert before.moved() == []


def test_case_22_states_on_the_meta_device_are_refused_clearly():
    rs.init(1)
    state = map_tensors(lambda t: t.to("meta"), rs.state_dict())
    before = rs.snapshot()
    with pytest.raises(StateError, match="lies on the meta device, which holds no data"):
        rs.load_state_dict(state)
    assert before.moved() == []


def test_case_22_states_are_taken_and_restored_under_any_default_device():
    rs.init(1)
    with torch.device("meta"):
        state, snapshot = rs.state_dict(), rs.snapshot()
    assert {t.device.type for t in _tensors(state)} == {"cpu"}
    expected = draw()
    with torch.device("meta"):
        snapshot.restore()
    assert draw() == expected
    with torch.device("meta"):
        rs.load_state_dict(state)
    assert draw() == expected


def _tensors(value):
    if isinstance(value, dict):
        return [t for item in value.values() for t in _tensors(item)]
    if isinstance(value, list):
        return [t for item in value for t in _tensors(item)]
    return [value] if isinstance(value, torch.Tensor) else []


def test_case_48_a_scope_covers_all_libraries_and_every_device_that_is_up(use_device):
    device = use_device(fakes.FakeDeviceModule(count=8))
    device.init()
    rs.init(1)
    device.draw(5)
    before, states = rs.snapshot(), device.states()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # none for having many devices
        with rs.seeded(task="a", restore=True):
            draw()
            assert len({tuple(device.draw(index)) for index in range(8)}) == 1
    assert before.moved() == []
    assert device.states() == states


def test_case_48_without_an_accelerator_a_scope_works_and_brings_none_up(device):
    rs.init(1)
    before = rs.snapshot()
    with rs.seeded(task="a", restore=True):
        draw()
    assert before.moved() == []
    assert not device.is_initialized()


class Noisy(torch.utils.data.Dataset):
    """Opens a scope in each item, as a worker may with a master seed of its own."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        with rs.seeded(master_seed=1, sample_of_mine=index, restore=True):
            return torch.rand(1, dtype=torch.float64).item()


@pytest.mark.parametrize("up", [True, False], ids=["device-up-in-the-parent", "device-down"])
def test_case_49_a_scope_inside_a_forked_worker_leaves_the_device_alone(device, up):
    if up:
        device.init()
    touched = device.touched
    loader = torch.utils.data.DataLoader(Noisy(), batch_size=4, num_workers=2, multiprocessing_context="fork")
    values = [float(x) for batch in loader for x in batch]
    assert values == [Noisy()[index] for index in range(8)]
    assert device.is_initialized() is up
    assert up or device.touched == touched


FRESH = """
import torch
import reproseed as rs
rs.init(1)
with rs.seeded(task="a", restore=True):
    torch.rand(3)
rs.load_state_dict(rs.state_dict())
print(torch.cuda.is_initialized(), [name for name in rs.snapshot().states])
"""


def test_case_49_a_fresh_process_is_not_made_to_initialise_cuda():
    done = subprocess.run(
        [sys.executable, "-c", FRESH], capture_output=True, text=True, timeout=120, env=dict(os.environ)
    )
    assert done.stdout == "False ['python', 'numpy', 'torch.cpu']\n", done.stderr


def test_case_49_a_device_that_comes_up_inside_the_scope_gets_its_seed_and_the_outer_one_at_exit(device):
    rs.init(1)
    with rs.seeded(task="train", epoch=0):
        with rs.seeded(task="eval"):
            inside = device.draw()
        after = device.draw()
    with rs.seeded(task="eval"):
        assert device.draw() == inside
    with rs.seeded(task="train", epoch=0):
        assert device.draw() == after != inside


def test_case_49_a_device_module_that_raises_is_not_asked(use_device):
    use_device(fakes.FakeDeviceModule(broken=True))
    rs.init(1)
    with rs.seeded(task="a", restore=True):
        draw()


def test_case_51_scopes_streams_and_snapshots_work_under_a_default_device():
    rs.init(1)
    with rs.seeded(task="a"):
        expected = draw(), torch.rand(2, generator=rs.stream("s").torch_generator()).tolist()
    with torch.device("meta"), rs.seeded(task="a"):
        rs.snapshot().restore()
        rs.state_dict()
        stream = torch.rand(2, generator=rs.stream("s").torch_generator(), device="cpu").tolist()
        assert (draw(), stream) == expected
