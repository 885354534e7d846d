"""Devices, on a stand-in with two: seeded when they come up, never brought up, left alone where they must be."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch
from fakes import BrokenDriverError, FakeDeviceModule, FakeMps

import reproseed as rs
from reproseed.address import Address
from reproseed.errors import CaptureError, StateError
from reproseed.sources.accelerator import AcceleratorSource
from reproseed.streams import Stream


def expected(index: int = 0, *, master_seed: int = 1, label: str = "torch.fake", n: int = 3, **coordinates):
    """What a device draws at the start of an address's stream."""
    seed = Stream(master_seed, Address(**coordinates), label).seed(64)
    return torch.rand(n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).tolist()


# --- coming up --------------------------------------------------------------------------------------------------------


def test_scopes_and_snapshots_never_bring_a_device_up(device):
    rs.init(1)
    with rs.seeded(task="a"), rs.seeded(task="b", restore=True), rs.preserved(check="error"):
        rs.snapshot()
        rs.current().seeds()
    rs.reseed(1, 2)
    rs.state_dict()
    assert not device.is_initialized()
    assert device.touched == 0


def test_a_device_that_comes_up_inside_a_scope_is_on_the_address_of_that_moment(device):
    rs.init(1)
    with rs.seeded(task="train", epoch=0), rs.seeded(task="train", epoch=3):
        assert device.draw() == expected(task="train", epoch=3, rank=0)
        assert device.draw(1) == expected(task="train", epoch=3, rank=0)


def test_a_device_that_comes_up_after_an_evaluation_is_on_the_training_stream(device):
    """Queueing a seed at each entry would start the training on evaluation's seed."""
    rs.init(1)
    with rs.seeded(task="train", epoch=0):
        with rs.seeded(task="eval"):
            pass
        assert device.draw() == expected(task="train", epoch=0, rank=0)


def test_a_device_that_comes_up_in_a_step_is_on_the_steps_stream(device):
    rs.init(1)
    with rs.seeded(task="train", epoch=0):
        for step, _ in rs.steps(3):
            if step == 2:
                assert device.draw() == expected(task="train", epoch=0, rank=0, step=2)


def test_a_device_that_comes_up_outside_all_scopes_is_on_the_base_stream_without_the_rank(device):
    rs.init(1, rank=3, world_size=4)
    assert device.draw() == expected()


def test_a_device_that_comes_up_after_an_outermost_scope_is_on_that_scopes_stream(device):
    rs.init(1)
    with rs.seeded(task="train", epoch=0):
        pass
    assert device.draw() == expected(task="train", epoch=0, rank=0)


def test_a_device_that_came_up_inside_a_restoring_scope_is_left_on_the_enclosing_address(device):
    rs.init(1)
    with rs.seeded(task="train", epoch=0):
        with rs.seeded(task="eval"):
            assert device.draw() == expected(task="eval", rank=0)
        assert device.draw() == expected(task="train", epoch=0, rank=0)


def test_a_second_run_takes_the_slot_over(device):
    rs.init(1)
    rs.init(2)
    assert device.draw() == expected(master_seed=2)


@pytest.mark.parametrize("seeding", ["manual_seed_all", "manual_seed"])
def test_a_stray_seed_call_takes_the_slot_and_the_next_entry_takes_it_back(device, seeding):
    rs.init(1)
    getattr(device, seeding)(99)
    stray = FakeDeviceModule()
    stray.manual_seed_all(99)
    with rs.seeded(task="train", epoch=0):
        assert device.draw() == expected(task="train", epoch=0, rank=0)
        assert device.draw(1) == expected(task="train", epoch=0, rank=0)
    assert stray.draw() != expected(task="train", epoch=0, rank=0)


def test_an_entry_queues_nothing_while_the_slot_is_ours(device):
    rs.init(1)
    queued = device._lazy_seed_tracker.manual_seed_all_cb
    for epoch in range(3):
        with rs.seeded(task="train", epoch=epoch):
            assert device._lazy_seed_tracker.manual_seed_all_cb is queued


# --- seeding and putting back -----------------------------------------------------------------------------------------


def test_all_devices_get_the_same_stream_and_each_its_own_state_back(device):
    rs.init(1)
    device.init()
    device.draw(1, 5)
    before = device.states()
    assert before[0] != before[1]
    with rs.seeded(task="eval", restore=True):
        assert device.draw(0) == device.draw(1) == expected(task="eval", rank=0)
        device.draw(1)
    assert device.states() == before


def test_distinct_devices_get_a_stream_each(device):
    rs.init(1, devices="distinct")
    device.init()
    with rs.seeded(task="a"):
        assert device.draw(0) == expected(label="torch.fake:0", task="a", rank=0)
        assert device.draw(1) == expected(label="torch.fake:1", task="a", rank=0)


def test_distinct_devices_that_come_up_inside_a_scope_get_a_stream_each(device):
    rs.init(1, devices="distinct")
    with rs.seeded(task="a"):
        assert device.draw(1) == expected(label="torch.fake:1", task="a", rank=0)


def test_a_snapshot_names_the_device_that_moved(device):
    rs.init(1)
    device.init()
    before = rs.snapshot()
    assert before.moved() == []
    device.draw(1)
    assert before.moved() == ["torch.fake"]
    before.restore()
    assert before.moved() == []


def test_states_pass_through_plain_types_and_damage_is_named(device):
    device.init()
    source = AcceleratorSource("fake", device)
    state = source.snapshot()
    assert source.from_plain(source.to_plain(state)) == state
    with pytest.raises(StateError, match="its field 'devices' is not a list of states"):
        source.from_plain({"devices": "x"})
    with pytest.raises(StateError, match=r"its states have \[3\] bytes; 5056 are expected"):
        source.from_plain({"devices": [b"123"]})


def test_a_device_without_a_slot_is_seeded_from_the_start(use_device):
    mps = use_device(FakeMps())
    rs.init(1)
    with rs.seeded(task="a"):
        drawn = torch.rand(3, generator=mps.generator, dtype=torch.float64).tolist()
    assert drawn == expected(task="a", rank=0)


# --- trouble ----------------------------------------------------------------------------------------------------------


def test_a_driver_that_raises_is_never_asked(use_device):
    broken = use_device(FakeDeviceModule(broken=True))
    rs.init(1)
    with rs.seeded(task="a", restore=True):
        rs.snapshot()
        with pytest.raises(BrokenDriverError):
            broken.init()
    assert rs.state_dict()["snapshot"].keys() == {"python", "numpy", "torch.cpu"}


def test_a_device_without_is_initialized_whose_driver_raises_counts_as_absent(use_device):
    class Broken:
        def is_available(self):
            raise BrokenDriverError("too old")

    use_device(Broken())
    rs.init(1)
    with rs.seeded(task="a"):
        assert "torch.fake" not in rs.snapshot().states


@pytest.mark.parametrize("enter", [lambda: rs.seeded(task="a"), rs.preserved], ids=["seeded", "preserved"])
def test_entering_during_a_capture_raises_and_changes_nothing(device, enter):
    rs.init(1)
    device.init()
    device.draw()
    before, states = rs.snapshot(), device.states()
    device.capturing = True
    with pytest.raises(CaptureError, match=r"while a fake graph is being captured: enter the scope around the capture"):
        enter().__enter__()
    with pytest.raises(CaptureError, match="while a fake graph is being captured"):
        rs.reseed(1, 2)
    device.capturing = False
    assert before.moved() == []
    assert device.states() == states
    with pytest.raises(rs.ScopeError, match="no scope is open here"):
        rs.current()


def test_a_capture_is_seen_by_the_very_first_scope_too(device):
    device.init()
    device.capturing = True
    states = device.states()
    with pytest.raises(CaptureError), rs.seeded(master_seed=1, task="a"):
        pass
    assert device.states() == states


def test_a_device_that_fails_to_be_seeded_leaves_everything_as_it_was(device):
    rs.init(1)
    device.init()
    before = rs.snapshot()

    class Dead:
        def manual_seed(self, seed):
            raise BrokenDriverError("fell off the bus")

        get_state = device._generators[1].get_state
        set_state = device._generators[1].set_state

    alive, device._generators = device._generators, (device._generators[0], Dead())
    with pytest.raises(BrokenDriverError), rs.seeded(task="a"):
        pass
    device._generators = alive
    assert before.moved() == []


def test_a_forked_child_never_touches_the_device_neither_entering_nor_leaving(device):
    rs.init(1)
    device.init()
    with rs.seeded(task="outer"):
        scope = rs.seeded(task="inner")
        scope.__enter__()
        touched, queued = device.touched, device._lazy_seed_tracker.manual_seed_all_cb
        child = os.fork()
        if child == 0:
            status = 1
            try:
                scope.__exit__(None, None, None)
                with rs.seeded(task="child", master_seed=1, restore=True), rs.preserved(check="error"):
                    rs.snapshot().restore()
                same_slot = device._lazy_seed_tracker.manual_seed_all_cb is queued
                status = 0 if device.touched == touched and same_slot else 2
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        scope.__exit__(None, None, None)
    assert os.waitstatus_to_exitcode(status) == 0


BACKEND = """
import sys
sys.path.append(sys.argv[1])
import torch
import fakes
import reproseed as rs

rs.init(1)
with rs.seeded(task="before"):
    pass
device = fakes.FakeDeviceModule()
torch.utils.rename_privateuse1_backend("fake")
torch._register_device_module("fake", device)
with rs.seeded(task="a"):
    one = device.draw()
    assert "torch.fake" in rs.snapshot().states
other = rs.Seeder(1)
with other.seeded(task="a", restore=True):
    assert device.draw() == one
torch.manual_seed(5)  # seeds a backend of one's own through its module
print("seeded")
"""


def test_a_backend_that_is_registered_with_torch_after_the_run_began_is_found():
    folder = os.path.join(os.path.dirname(__file__), "..")
    done = subprocess.run([sys.executable, "-c", BACKEND, folder], capture_output=True, text=True, timeout=120)
    assert done.stdout == "seeded\n", done.stderr


def test_only_device_types_that_this_build_of_torch_knows_are_sources():
    from reproseed.sources.accelerator import accelerators

    names = [source.device_type for source in accelerators()]
    assert ("cuda" in names) == torch.cuda._is_compiled()
    assert all(
        not source.active() or source.device_type == "mps" or source.module.is_initialized()
        for source in accelerators()
    )
