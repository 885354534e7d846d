"""`init` on real ranks: they agree on the master seed, in one collective, or say which of them differ."""

from __future__ import annotations

import pytest
from launch import on_ranks

pytestmark = [pytest.mark.distributed, pytest.mark.slow]


AGREE = """
calls = []
gather = dist.all_gather
def counted(*args, **kwargs):
    calls.append(1)
    return gather(*args, **kwargs)
dist.all_gather = counted
others = [name for name in ("broadcast", "all_reduce", "all_gather_object", "broadcast_object_list", "barrier",
                            "all_gather_into_tensor", "gather", "scatter", "reduce")]
def refused(*args, **kwargs):
    raise AssertionError("another collective")
kept = {name: getattr(dist, name) for name in others}
start_group()
for name in others:
    setattr(dist, name, refused)
seeds = []
for chosen in (7, 2**64 - 1, 0, None, None):
    del calls[:]
    seeder = rs.init(chosen)
    seeds.append(seeder.get_master_seed())
    assert len(calls) == 1, calls
    assert seeder.drawn is (chosen is None)
    assert seeder.place == (RANK, WORLD), seeder.place
for name in others:
    setattr(dist, name, kept[name])
base = draws()
with rs.seeded(task="train", epoch=0):
    private = draws()
with rs.seeded(task="train", epoch=0, shared=True):
    shared = draws()
report(seeds=seeds, base=base, private=private, shared=shared)
"""


@pytest.mark.parametrize("ranks", [2, 4])
def test_all_ranks_have_one_seed_after_one_collective(tmp_path, ranks):
    """Chosen, at both ends of the range, and drawn, twice a different one."""
    reports = on_ranks(tmp_path, ranks, AGREE)
    assert len({str(one["seeds"]) for one in reports}) == 1
    seeds = reports[0]["seeds"]
    assert seeds[:3] == [7, 2**64 - 1, 0]
    assert seeds[3] != seeds[4]
    assert len({str(one["base"]) for one in reports}) == 1
    assert len({str(one["shared"]) for one in reports}) == 1
    assert len({str(one["private"]) for one in reports}) == ranks


def test_one_rank_needs_no_collective(tmp_path):
    body = """
    start_group()
    dist.all_gather = None
    seeds = [rs.init(None).get_master_seed() for _ in range(2)]
    report(seeds=seeds)
    """
    (only,) = on_ranks(tmp_path, 1, body)
    assert only["seeds"][0] != only["seeds"][1]


def test_ranks_that_differ_are_named_by_each_of_them_and_nothing_changes(tmp_path):
    """Chosen apart, chosen by one and left to be drawn by others, and another derivation's number."""
    body = """
    start_group()
    messages = []
    for chosen in ([1, 1, 2, 3], [2**64 - 1, 2**64 - 1, 2**63 - 1, 2**64 - 1], [None, 5, None, 5], [5, None, None, 6]):
        before = rs.snapshot()
        try:
            rs.init(chosen[RANK])
        except rs.RankError as error:
            messages.append(str(error))
        assert rs.snapshot() == before
        assert not rs.is_initialized()
    from reproseed.ranks import _gathered
    try:
        _gathered(1, 1, 1 if RANK < 3 else 2)
    except rs.RankError as error:
        messages.append(str(error))
    report(messages=messages)
    """
    reports = on_ranks(tmp_path, 4, body)
    assert len({str(one["messages"]) for one in reports}) == 1
    apart, halves, some, first, version = reports[0]["messages"]
    assert "rank 0 has 1, ranks [2, 3] differ (rank 2 has 2)" in apart
    assert "Pass the same master_seed to all ranks, or None to all" in apart
    assert f"rank 0 has {2**64 - 1}, ranks [2] differ (rank 2 has {2**63 - 1})" in halves
    assert "rank 0 has none, ranks [1, 3] differ (rank 1 has 5)" in some
    assert "rank 0 has 5, ranks [3] differ (rank 3 has 6)" in first
    assert "ranks [3] use derivation 2, rank 0 uses 1: pass the same to all" in version


def test_ranks_without_a_seed_take_that_of_rank_0(tmp_path):
    """Rank 0 alone read a command line, or a checkpoint."""
    body = """
    start_group()
    seeder = rs.init(9 if RANK == 0 else None)
    report(seed=seeder.get_master_seed(), drawn=seeder.drawn)
    """
    assert on_ranks(tmp_path, 2, body) == [{"seed": 9, "drawn": False}] * 2


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_drawn_seed_goes_through_torchruns_store_before_there_is_a_group(tmp_path, ranks):
    body = """
    assert not dist.is_initialized()
    seeds = [rs.init().get_master_seed() for _ in range(3)]
    start_group()
    report(seeds=seeds, again=rs.init(seeds[-1]).get_master_seed())
    """
    reports = on_ranks(tmp_path, ranks, body)
    assert len({str(one) for one in reports}) == 1
    assert len(set(reports[0]["seeds"])) == 3


def test_without_group_and_store_a_drawn_seed_is_refused(tmp_path):
    body = """
    os.environ["TORCHELASTIC_USE_AGENT_STORE"] = "False"
    try:
        rs.init()
    except rs.RankError as error:
        report(message=str(error))
    """
    for one in on_ranks(tmp_path, 2, body):
        assert "master_seed=None with 2 ranks: the drawn seed cannot be shared yet" in one["message"]


def test_a_group_with_fwr13ys_arguments(tmp_path):
    body = """
    start_group()
    seeder = rs.init(master_seed=3, ngpus=WORLD, local_rank=int(os.environ["LOCAL_RANK"]))
    report(place=list(seeder.place))
    """
    assert [one["place"] for one in on_ranks(tmp_path, 2, body)] == [[0, 2], [1, 2]]


def test_a_device_mesh_tells_the_coordinates(tmp_path):
    body = """
    start_group()
    from torch.distributed.device_mesh import init_device_mesh
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    rs.init(1, mesh=mesh, axes="dp")
    with rs.seeded(task="train", epoch=0):
        one = draws()
    rs.init(1, mesh=mesh, axes=("dp", "tp"))
    with rs.seeded(task="train", epoch=0):
        both = draws()
    try:
        rs.init(1, mesh=mesh, axes=("pp",))
    except rs.CoordinateTypeError as error:
        report(one=one, both=both, message=str(error))
    """
    reports = on_ranks(tmp_path, 4, body)
    one, both = ([str(r[name]) for r in reports] for name in ("one", "both"))
    assert one[0] == one[1] != one[2] == one[3]
    assert len(set(both)) == 4
    assert "name the mesh dimensions whose ranks differ, out of ('dp', 'tp')" in reports[0]["message"]
