"""`assert_ranks_agree` on real ranks: silent while copies are equal, and exact about the first that is not."""

from __future__ import annotations

import pytest
import torch
from labels import label
from launch import on_ranks

import reproseed as rs
from reproseed.agreement import assert_ranks_agree

BODY = """
from reproseed.agreement import assert_ranks_agree

start_group()
rs.init(5)
rs.register_generator(random.Random(), shared=True, name="mask")
model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3))
said = {}

def check(name, what, **keywords):
    before = rs.snapshot()
    try:
        assert_ranks_agree(what, **keywords)
        said[name] = None
    except AssertionError as error:
        said[name] = str(error)
    assert before == rs.snapshot()

check("base", "streams")
with rs.seeded(task="mask", epoch=0, shared=True):
    check("shared", "streams")
    torch.rand(RANK // 2 * 3)
    check("drawn", "streams")
with rs.seeded(task="train", epoch=0):
    check("private", "streams")

check("model", model)
check("equal", torch.tensor([0.0, 1.0, float("nan")]))
check("sign", torch.tensor([0.0 if RANK < 3 else -0.0]))
check("dtype", torch.ones(2, dtype=torch.float64 if RANK == 1 else torch.float32))
check("shape", torch.ones(2, 3) if RANK == 2 else torch.ones(3, 2))
kinds = torch.ones(2, dtype=torch.bfloat16), torch.tensor(1), torch.ones(0), torch.ones(2, 3).t()
check("kinds", dict(zip("abcd", kinds)))
check("names", {name: torch.ones(1) for name in ("ab", "a", "abz", "ab")[RANK]})
with torch.no_grad():
    if RANK == 1:
        model[1].running_mean[2] += 1e-6
    if RANK == 3:
        model[0].bias[0] += 1e-6
        model[1].weight[0] += 1e-6
check("drift", model)
halves = [dist.new_group([0, 2]), dist.new_group([1, 3])]
check("group", model, group=halves[RANK % 2])

calls = []
for name in ("all_gather", "all_gather_object", "broadcast", "all_reduce", "barrier"):
    def counted(*args, real=getattr(dist, name), name=name, **keywords):
        calls.append(name)
        return real(*args, **keywords)
    setattr(dist, name, counted)
check("again", torch.ones(1))
report(said=said, calls=calls)
"""


@pytest.mark.distributed
@pytest.mark.slow
def test_the_rank_and_the_first_part_that_differ_are_named_on_all_ranks(tmp_path):
    reports = on_ranks(tmp_path, 4, BODY)
    said = reports[0]["said"]
    assert [name for name, message in said.items() if message is None] == [
        "base", "shared", "model", "equal", "kinds", "group", "again",
    ]  # fmt: skip
    assert said["drawn"] == "streams differ from rank 0's: rank 2 in 'torch.cpu'; rank 3 in 'torch.cpu'."
    assert said["private"].startswith("streams differ from rank 0's: rank 1 in 'python' (and 2 more); rank 2 in")
    assert said["sign"] == "tensors differ from rank 0's: rank 3 in 'tensor'."
    assert said["dtype"] == "tensors differ from rank 0's: rank 1 in 'tensor'."
    assert said["shape"] == "tensors differ from rank 0's: rank 2 in 'tensor'."
    assert said["names"] == (
        "tensors differ from rank 0's: rank 1 in 'b', which it lacks; rank 2 in 'z', which only it has."
    )
    assert said["drift"] == (
        "parameters and buffers differ from rank 0's: rank 1 in '1.running_mean'; rank 3 in '0.bias' (and 1 more)."
    )
    assert reports[0]["calls"] == ["all_gather"]
    # Each rank says the same of all, and those of another group of their own.
    for one in reports[1:]:
        assert {**one["said"], "group": None} == said
    assert reports[1]["said"]["group"] == (
        "parameters and buffers differ from rank 1's: rank 3 in '0.bias' (and 2 more)."
    )


def test_without_a_process_group_there_is_nothing_to_compare():
    rs.init(1)
    for what in ("streams", torch.ones(2), torch.nn.Linear(2, 2), {"a": torch.ones(1)}):
        assert_ranks_agree(what)


@pytest.mark.parametrize("what", ["stream", 3, [torch.ones(1)], {"a": 1}], ids=label)
def test_what_it_cannot_compare_it_refuses_by_name(what):
    with pytest.raises(rs.CoordinateTypeError, match="allowed are 'streams', a module, a tensor, or a dict of tensors"):
        assert_ranks_agree(what)
