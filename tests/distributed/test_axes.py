"""Named axes on a device mesh: tensor-parallel peers share what is replicated, data-parallel ranks differ."""

from __future__ import annotations

import textwrap

import pytest
from launch import on_ranks

pytestmark = [pytest.mark.distributed, pytest.mark.slow]


MESH = """
import warnings
from torch.distributed.device_mesh import init_device_mesh
start_group()
mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
dp, tp = mesh.get_local_rank("dp"), mesh.get_local_rank("tp")

def mask():
    return torch.nn.functional.dropout(torch.ones(32)).tolist()

def scoped(draw, **coordinates):
    with rs.seeded(**coordinates):
        return draw()
"""

AXES = """
found = {}
ways = {"mesh": {"mesh": mesh, "axes": ("dp",)}, "one name": {"mesh": mesh, "axes": "dp"}}
for name, how in {**ways, "coordinates": {"coordinates": {"dp": dp}}}.items():
    rs.init(1, **how)
    found[name] = {
        "base": torch.nn.Linear(2, 2).weight.tolist(),
        "replicated": scoped(mask, task="train", epoch=0),
        "sharded": scoped(mask, task="train", epoch=0, tp=tp),
        "shared": scoped(mask, task="train", epoch=0, shared=True),
        "stream": rs.stream("noise").seed(64),
    }
    steps = []
    with rs.seeded(task="train", epoch=0):
        for step, _ in rs.steps(2):
            inner = rs.current().at(tp=tp)
            with inner:
                steps.append(mask())
            steps.append(mask())
    found[name]["steps"] = steps
rs.init(1, mesh=mesh, axes=("dp", "tp"))
both = scoped(mask, task="train", epoch=0)
rs.init(1, coordinates={})
none = scoped(mask, task="train", epoch=0)
rs.init(1, mesh=mesh, axes=("dp",))
state = rs.state_dict()
report(found=found, both=both, none=none, coordinates=state["coordinates"])
"""


def _same(reports, *path):
    """Return which ranks hold equal values, as a letter each."""
    values = []
    for one in reports:
        for name in path:
            one = one[name]
        values.append(str(one))
    return "".join("abcd"[values.index(value)] for value in values)


def test_peers_along_a_left_out_axis_share_dropout_and_the_others_differ(tmp_path):
    reports = on_ranks(tmp_path, 4, MESH + AXES)
    for how in ("mesh", "one name", "coordinates"):
        expected = {
            "base": "aaaa", "replicated": "aacc", "sharded": "abcd", "shared": "aaaa", "stream": "aacc",
        }  # fmt: skip
        assert {name: _same(reports, "found", how, name) for name in expected} == expected
        assert [_same([{"x": one["found"][how]["steps"][k]} for one in reports], "x") for k in range(4)] == [
            "abcd", "aacc", "abcd", "aacc",
        ]  # fmt: skip
    assert all(one["found"]["mesh"] == one["found"]["coordinates"] == one["found"]["one name"] for one in reports)
    assert _same(reports, "both") == "abcd"
    assert _same(reports, "none") == "aaaa"
    assert [one["coordinates"] for one in reports] == [{"dp": 0}, {"dp": 0}, {"dp": 1}, {"dp": 1}]


DTENSOR = """
warnings.filterwarnings("ignore", message="DTensor random operators may not have complete support")
from torch.distributed.tensor import DTensor, Replicate, Shard
import torch.distributed.tensor._random as tracker

def dropped(placement, **coordinates):
    part = DTensor.from_local(torch.ones(4, 4), mesh["tp"], [placement], run_check=False)
    with rs.seeded(task="train", epoch=0, **coordinates):
        before = rs.snapshot()
        first = torch.nn.functional.dropout(part).to_local().tolist()
        after = rs.snapshot()
        before.restore()
        assert torch.nn.functional.dropout(part).to_local().tolist() == first
        assert rs.snapshot() == after
        return first

found = {}
for name, how in {"dp": {"mesh": mesh, "axes": "dp"}, "rank": {}}.items():
    rs.init(1, **how)
    found[name] = {
        "replicated": dropped(Replicate()), "sharded": dropped(Shard(0)), "sharded, tp": dropped(Shard(0), tp=tp),
    }
report(found=found, tracker=tracker._rng_tracker is not None)
"""


def test_dtensors_on_the_cpu_draw_from_the_generator_of_the_scope(tmp_path):
    """No tracker exists there: a snapshot covers all, and parts of a sharded one differ where the address says so."""
    reports = on_ranks(tmp_path, 4, MESH + DTENSOR)
    assert not any(one["tracker"] for one in reports)
    found = {
        how: {name: _same(reports, "found", how, name) for name in reports[0]["found"][how]} for how in ("dp", "rank")
    }
    assert found["dp"] == {"replicated": "aacc", "sharded": "aacc", "sharded, tp": "abcd"}
    assert found["rank"]["replicated"] == "abcd", "with the rank in the address, replicas drift apart: leave tp out"


def test_shared_weights_and_a_check_over_the_peers(tmp_path):
    """`assert_ranks_agree` over the tensor-parallel group passes for axes, and names the drift for ranks."""
    body = """
    from reproseed.agreement import assert_ranks_agree
    said = []
    for how in ({"mesh": mesh, "axes": "dp"}, {}):
        rs.init(1, **how)
        with rs.seeded(task="train", epoch=0):
            try:
                assert_ranks_agree("streams", group=mesh["tp"].get_group())
                said.append(None)
            except AssertionError as error:
                said.append(str(error))
    report(said=said)
    """
    reports = on_ranks(tmp_path, 4, MESH + textwrap.dedent(body))
    assert [one["said"][0] for one in reports] == [None] * 4
    assert reports[0]["said"][1] == "streams differ from rank 0's: rank 1 in 'python' (and 2 more)."
    assert reports[3]["said"][1] == "streams differ from rank 2's: rank 3 in 'python' (and 2 more)."
