"""What only a device can show, in under three minutes; skipped elsewhere. The logic is tested on a stand-in."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

import reproseed as rs
from reproseed.errors import CaptureError

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def draw(index=0, n=4):
    return torch.rand(n, device=f"cuda:{index}", dtype=torch.float64).tolist()


FRESH = """
import torch
import reproseed as rs
rs.init(1)
with rs.seeded(task="train", epoch=0):
    with rs.seeded(task="eval"):
        pass
    assert not torch.cuda.is_initialized()
    torch.manual_seed(99) if STRAY else None
    with rs.seeded(task="train", epoch=3):
        first = torch.rand(4, device="cuda", dtype=torch.float64).tolist()
    with rs.seeded(task="train", epoch=3):
        assert torch.rand(4, device="cuda", dtype=torch.float64).tolist() == first
print("seeded")
"""


@pytest.mark.parametrize("stray", [False, True], ids=["plain", "stray-manual_seed"])
def test_a_device_that_comes_up_inside_a_scope_is_on_its_stream(stray):
    code = f"STRAY = {stray}\n{FRESH}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "seeded\n", done.stderr


def test_each_device_gets_its_own_state_back():
    rs.init(1)
    count = torch.cuda.device_count()
    for index in range(count):
        draw(index, index + 1)
    before = [torch.cuda.get_rng_state(index) for index in range(count)]
    with rs.seeded(task="a", restore=True):
        assert len({tuple(draw(index)) for index in range(count)}) == 1
    after = [torch.cuda.get_rng_state(index) for index in range(count)]
    assert all(torch.equal(one, other) for one, other in zip(before, after, strict=True))


def test_all_64_bits_of_the_seed_count_on_a_device():
    one, other = (torch.Generator("cuda").manual_seed(seed) for seed in (7, 7 + 2**32))
    assert not torch.equal(*(torch.rand(4, device="cuda", generator=g) for g in (one, other)))


def test_dropout_is_a_function_of_the_address():
    rs.init(1)
    x = torch.ones(64, 64, device="cuda")

    def masks():
        with rs.seeded(task="train", epoch=0):
            return torch.nn.functional.dropout(x, 0.5), torch.nn.functional.dropout(x, 0.5)

    first, again = masks(), masks()
    assert all(torch.equal(one, other) for one, other in zip(first, again, strict=True))
    assert not torch.equal(*first)


def test_entering_and_leaving_does_not_synchronise():
    rs.init(1)
    draw()
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        with rs.seeded(task="a", restore=True) as scope:
            torch.rand(4, device="cuda")
            scope.before.moved()
        rs.reseed(1, 2)
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_a_capture_refuses_a_scope_and_a_replay_takes_the_scope_around_it():
    rs.init(1)
    out = torch.empty(4, device="cuda")
    draw()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out.uniform_()
        with pytest.raises(CaptureError, match="while a cuda graph is being captured"):
            rs.seeded(task="inside").__enter__()

    def replay(epoch):
        with rs.seeded(task="train", epoch=epoch):
            graph.replay()
            return out.tolist()

    assert replay(0) == replay(0) != replay(1)


def test_a_checkpoint_continues_on_the_device():
    rs.init(1)
    draw()
    state = rs.state_dict()
    expected = draw()
    draw()
    rs.load_state_dict(state)
    assert draw() == expected
