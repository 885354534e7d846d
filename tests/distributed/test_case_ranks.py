"""Cases of section F and case 25 on real ranks."""

from __future__ import annotations

import pytest
from launch import on_ranks

pytestmark = [pytest.mark.distributed, pytest.mark.slow]


RANKS = """
start_group()
rs.init(master_seed=5)

def mask():
    return torch.nn.functional.dropout(torch.ones(64), 0.5).tolist()

def weights():
    return torch.nn.Linear(4, 4).weight.tolist()

def split():
    return [one.indices for one in torch.utils.data.random_split(range(20), [0.8, 0.2])]

def scoped(draw, **coordinates):
    with rs.seeded(**coordinates):
        return draw()

report(
    base=weights(), split=split(),
    private_weights=scoped(weights, task="init"), shared_weights=scoped(weights, task="init", shared=True),
    train=scoped(mask, task="train", epoch=0), train_again=scoped(mask, task="train", epoch=0),
    shared=scoped(mask, task="train", epoch=0, shared=True), next=scoped(mask, task="train", epoch=1),
    shared_stream=rs.stream("split", shared=True).seed(64), private_stream=rs.stream("split").seed(64),
)
"""


@pytest.mark.parametrize("ranks", [2, 4])
def test_case_32_case_34_masks_differ_by_rank_and_weights_do_not(tmp_path, ranks):
    """And a second run is equal to the first; a shared scope is equal on all ranks."""
    reports = on_ranks(tmp_path, ranks, RANKS)
    equal = ("base", "split", "shared_weights", "shared", "shared_stream")
    different = ("private_weights", "train", "next", "private_stream")
    assert {name: len({str(one[name]) for one in reports}) for name in equal} == dict.fromkeys(equal, 1)
    assert {name: len({str(one[name]) for one in reports}) for name in different} == dict.fromkeys(different, ranks)
    assert all(one["train"] == one["train_again"] for one in reports)
    assert all(len({str(one[name]) for name in ("train", "shared", "next")}) == 3 for one in reports)
    if ranks == 2:
        assert on_ranks(tmp_path, ranks, RANKS) == reports


def test_case_35_a_shared_scope_is_equal_whatever_a_rank_did_outside_it(tmp_path):
    """Rank 0 alone makes an iterator, logs and plots; the masks that all ranks must share stay shared."""
    body = """
    start_group()
    rs.init(5)
    masks = []
    for epoch in range(2):
        with rs.seeded(task="train", epoch=epoch):
            for step, _ in rs.steps(3):
                if RANK == 0 and step == 1:
                    draws()
                    next(iter(torch.utils.data.DataLoader(range(4), shuffle=True)))
                with rs.seeded(task="mask", epoch=epoch, step=step, shared=True):
                    masks.append(torch.nn.functional.dropout(torch.ones(16)).tolist())
    report(masks=masks)
    """
    first, second = on_ranks(tmp_path, 2, body)
    assert first == second
    assert len({str(mask) for mask in first["masks"]}) == 6


SAVE = """
start_group()
rs.init(3)
epoch_of = {}
for epoch in rs.epochs(2):
    with rs.seeded(task="train", epoch=epoch):
        for step, _ in rs.steps(4):
            epoch_of[f"{epoch}.{step}"] = draws()
            if (epoch, step) == (1, 1):
                torch.save(rs.state_dict(), OUT.parent / f"state-{RANK}.pt")
report(draws=epoch_of)
"""

LOAD = """
start_group()
kept = OUT.parent / f"state-{RANK if RANK < 2 else 0}.pt"
rs.init(resume=torch.load(kept))
epoch_of = {}
for epoch in rs.epochs(2):
    with rs.seeded(task="train", epoch=epoch):
        for step, _ in rs.steps(4):
            epoch_of[f"{epoch}.{step}"] = draws()
report(draws=epoch_of)
"""


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_case_25_resuming_on_another_number_of_ranks(tmp_path, ranks):
    """Each rank has the streams that it would have had from the start; none is silently another's."""
    full = on_ranks(tmp_path, 4, SAVE)
    saved = on_ranks(tmp_path, 2, SAVE)
    assert saved == full[:2]
    resumed = on_ranks(tmp_path, ranks, LOAD)
    left = ("1.2", "1.3")
    assert [one["draws"] for one in resumed] == [{k: one["draws"][k] for k in left} for one in full[:ranks]]
