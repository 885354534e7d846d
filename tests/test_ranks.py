"""Which rank this process is, by whom it is told, and what is said of contradictions. Real ranks: tests/distributed."""

from __future__ import annotations

import warnings

import pytest

import reproseed as rs
from reproseed.ranks import LAUNCHERS, Place, agree_on, coordinates_of, find_place

VARIABLES = [name for pair in LAUNCHERS for name in pair]
RUN, SLURM, MPI = LAUNCHERS


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch):
    for name in (*VARIABLES, "TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT", "REPROSEED_MASTER_SEED"):
        monkeypatch.delenv(name, raising=False)


def _launch(monkeypatch, pair, rank, size):
    monkeypatch.setenv(pair[0], str(rank))
    monkeypatch.setenv(pair[1], str(size))


@pytest.mark.parametrize("pair", LAUNCHERS, ids=["torchrun", "SLURM", "OpenMPI"])
@pytest.mark.parametrize("place", [Place(0, 1), Place(0, 4), Place(3, 4)], ids=str)
def test_the_launchers_variables_tell_the_rank(monkeypatch, pair, place):
    _launch(monkeypatch, pair, *place)
    assert find_place(None, None, None, None) == place
    assert rs.init(master_seed=1).place == place


def test_torchruns_variables_come_before_those_of_what_it_runs_under(monkeypatch):
    for index, pair in enumerate(reversed(LAUNCHERS)):
        _launch(monkeypatch, pair, index, 8)
        assert find_place(None, None, None, None) == (index, 8)


def test_without_any_word_it_is_alone():
    assert find_place(None, None, None, None) == (0, 1)


@pytest.mark.parametrize(
    ("ngpus", "local_rank", "expected"),
    [(4, 3, (3, 4)), (4, None, (0, 4)), (None, 2, (2, 3)), (1, 0, (0, 1)), (None, 0, (0, 1))],
)
def test_fwr13ys_arguments_serve_where_nothing_better_is_known(ngpus, local_rank, expected):
    assert find_place(None, None, ngpus, local_rank) == expected


@pytest.mark.parametrize("pair", LAUNCHERS, ids=["torchrun", "SLURM", "OpenMPI"])
def test_a_local_rank_that_repeats_on_the_second_node_gives_way_with_a_warning(monkeypatch, pair):
    _launch(monkeypatch, pair, 5, 8)
    message = r"local_rank=1 is not this process's rank 5 of 8 \(.*\): on several nodes local ranks repeat\. The global"
    with pytest.warns(rs.RankWarning, match=message):
        assert rs.init(1, 4, 1).place == (5, 8)


def test_a_local_rank_that_is_the_rank_warns_of_nothing(monkeypatch):
    _launch(monkeypatch, RUN, 1, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rs.init(1, ngpus=2, local_rank=1).place == (1, 2)


def test_arguments_come_first(monkeypatch):
    _launch(monkeypatch, RUN, 1, 2)
    assert find_place(3, 8, None, None) == (3, 8)
    assert find_place(0, None, None, None) == (0, 2)
    assert find_place(None, 8, None, None) == (1, 8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((4, 4, None, None), r"rank 4 does not lie in a world of 4 \(from rank=\): a rank is in \[0, world_size\)"),
        ((None, None, 2, 2), r"rank 2 does not lie in a world of 2 \(from ngpus and local_rank\)"),
        ((None, 4, None, None), r"world_size=4 was given without rank: pass rank= too, or start under torchrun"),
        ((-1, 4, None, None), r"rank=-1 is out of range"),
        ((0, 0, None, None), r"world_size=0 is out of range"),
        ((None, None, 0, None), r"ngpus=0 is out of range"),
        ((None, None, None, -1), r"local_rank=-1 is out of range"),
        (("0", 1, None, None), r"rank='0' is a str; an int is wanted"),
        ((True, 2, None, None), r"rank=True is a bool"),
        ((0.0, 2, None, None), r"rank=0\.0 is a float"),
    ],
    ids=lambda value: repr(value)[:20] if isinstance(value, tuple) else "",
)
def test_ranks_that_cannot_be_are_refused(arguments, message):
    with pytest.raises(rs.ReproseedError, match=message):
        find_place(*arguments)


@pytest.mark.parametrize(
    ("rank", "size", "message"),
    [
        ("x", "2", "RANK='x' and WORLD_SIZE='2' must be numbers; unset them, or pass rank= and world_size="),
        ("", "", "RANK='' and WORLD_SIZE='' must be numbers"),
        ("2", "2", r"rank 2 does not lie in a world of 2 \(from RANK and WORLD_SIZE\)"),
        ("-1", "2", "rank -1 does not lie in a world of 2"),
        ("0", "0", "rank 0 does not lie in a world of 0"),
    ],
)
def test_variables_that_cannot_be_are_refused(monkeypatch, rank, size, message):
    _launch(monkeypatch, RUN, rank, size)
    with pytest.raises(rs.RankError, match=message):
        rs.init(master_seed=1)
    assert not rs.is_initialized()


def test_a_rank_beyond_the_launchers_world_is_refused(monkeypatch):
    _launch(monkeypatch, SLURM, 1, 2)
    with pytest.raises(rs.RankError, match="rank 5 does not lie in a world of 2"):
        rs.init(1, rank=5)


def test_half_of_a_pair_of_variables_is_no_launcher(monkeypatch):
    monkeypatch.setenv("RANK", "3")
    _launch(monkeypatch, MPI, 1, 2)
    assert find_place(None, None, None, None) == (1, 2)


def test_a_drawn_seed_that_cannot_be_shared_is_refused(monkeypatch):
    _launch(monkeypatch, SLURM, 1, 2)
    message = (
        r"master_seed=None with 2 ranks: the drawn seed cannot be shared yet\. Call "
        r"torch\.distributed\.init_process_group\(\) before init\(\), or pass the same master_seed to all ranks\."
    )
    before = rs.snapshot()
    with pytest.raises(rs.RankError, match=message):
        rs.init()
    assert not rs.is_initialized()
    assert rs.snapshot() == before


def test_a_chosen_seed_needs_no_group(monkeypatch):
    _launch(monkeypatch, SLURM, 1, 2)
    assert rs.init(master_seed=0).get_master_seed() == 0


def test_alone_a_drawn_seed_is_another_one_each_time():
    drawn = {agree_on(None, 1, Place(0, 1), 0) for _ in range(20)}
    assert len(drawn) == 20
    assert all(was_drawn and 0 <= seed < 2**64 for seed, was_drawn in drawn)


def _train(**place):
    rs.init(master_seed=1, **place)
    with rs.seeded(task="train", epoch=0) as scope:
        return scope.seeds()


def test_the_world_size_is_in_no_address():
    assert _train(rank=3, world_size=4) == _train(rank=3, world_size=8)
    assert _train(rank=2, world_size=4) != _train(rank=3, world_size=4)


def test_the_base_stream_and_shared_scopes_are_equal_on_all_ranks():
    seen = set()
    for rank in range(4):
        rs.init(master_seed=1, rank=rank, world_size=4)
        base = str(rs.snapshot().to_plain())
        with rs.seeded(task="train", shared=True) as scope:
            seen.add((base, str(scope.seeds()), rs.stream("split", shared=True).seed(64)))
    assert len(seen) == 1


def test_coordinates_take_the_place_of_the_rank():
    def seeds(rank, **coordinates):
        rs.init(master_seed=1, rank=rank, world_size=4, coordinates=coordinates)
        with rs.seeded(task="train") as scope:
            return str(scope.seeds())

    peers = [seeds(2 * dp + tp, dp=dp) for dp in range(2) for tp in range(2)]
    assert peers[0] == peers[1]
    assert peers[2] == peers[3]
    assert peers[0] != peers[2]
    assert len({seeds(2 * dp + tp, dp=dp, tp=tp) for dp in range(2) for tp in range(2)}) == 4


@pytest.mark.parametrize(
    ("coordinates", "message"),
    [
        ({"rank": 1}, "'rank' is no coordinate"),
        ({"task": 1}, "'task' is set by scopes; name what tells ranks apart, such as 'dp'"),
        ({"dp": 0.5}, "coordinate dp=0.5 is a float"),
        ({"dp": None}, "coordinate dp=None has no value"),
        ([("dp", 1)], r"coordinates=\[\('dp', 1\)\] must be a dict such as {'dp': 1}"),
        ({"d p": 1}, "'d p' is not an ASCII identifier"),
    ],
    ids=str,
)
def test_coordinates_that_cannot_be_are_refused(coordinates, message):
    with pytest.raises(rs.CoordinateTypeError, match=message):
        coordinates_of(Place(0, 1), coordinates, None, None)


def test_axes_need_a_mesh():
    with pytest.raises(rs.CoordinateTypeError, match=r"axes='dp' needs mesh=, the DeviceMesh that they belong to"):
        rs.init(1, axes="dp")
