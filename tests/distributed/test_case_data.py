"""Cases 4, 36 and 38 on real ranks: workers, the distributed sampler, and another number of ranks."""

from __future__ import annotations

import pytest
from launch import on_ranks

pytestmark = [pytest.mark.distributed, pytest.mark.slow]


NOISE = """
class Noise(torch.utils.data.Dataset):
    def __len__(self):
        return 16
    def __getitem__(self, index):
        info = torch.utils.data.get_worker_info()
        return int(index), -1 if info is None else info.id, draws()
def plain(batch):
    return batch
start_group()
rs.init(5)
def passes(loader):
    seen = []
    for epoch in range(2):
        with rs.seeded(task="train", epoch=epoch):
            seen.append([item for batch in loader for item in batch])
    return seen
"""

WORKERS = """
loader = torch.utils.data.DataLoader(
    Noise(), 2, num_workers=2, collate_fn=plain, worker_init_fn=rs.data.seed_worker)
report(first=passes(loader), second=passes(loader))
"""


def test_case_4_every_worker_of_every_rank_has_streams_of_its_own(tmp_path):
    reports = on_ranks(tmp_path, 2, NOISE + WORKERS)
    values = [value for one in reports for epoch in one["first"] for _, _, drawn in epoch for value in drawn]
    assert len(values) == 2 * 2 * 16 * 3
    assert len(set(values)) == len(values)
    assert {worker for one in reports for _, worker, _ in one["first"][0]} == {0, 1}
    assert all(one["first"] == one["second"] for one in reports)


LOADER = """
def shuffled(global_batch_size, workers):
    loader = rs.data.seeded_loader(
        Noise(), global_batch_size=global_batch_size, shuffle=True, num_workers=workers, collate_fn=plain)
    return passes(loader)
report(one=shuffled(8, 0), two=shuffled(8, 2), other=shuffled(4, 0))
"""


def test_case_38_a_sample_draws_the_same_on_any_number_of_ranks(tmp_path):
    """Nor do workers or the batch size change it, and the order of the whole epoch is one."""
    seen = {}
    for ranks in (1, 2, 4):
        reports = on_ranks(tmp_path, ranks, NOISE + LOADER)
        for name in ("one", "two", "other"):
            for epoch in range(2):
                items = [item for one in reports for item in one[name][epoch]]
                assert sorted(index for index, _, _ in items) == list(range(16))
                seen[ranks, name, epoch] = {index: drawn for index, _, drawn in items}
        # The first global batch holds the same samples, however many ranks share it.
        share = 8 // ranks
        seen[ranks, "batch"] = sorted(index for one in reports for index, _, _ in one["one"][0][:share])
    for epoch in range(2):
        first = seen[1, "one", epoch]
        assert all(seen[ranks, name, epoch] == first for ranks in (1, 2, 4) for name in ("one", "two", "other"))
    assert seen[1, "one", 0] != seen[1, "one", 1]
    assert seen[1, "batch"] == seen[2, "batch"] == seen[4, "batch"]


SAMPLER = """
def orders(master, register):
    rs.init(master)
    sampler = torch.utils.data.DistributedSampler(range(16), shuffle=True)
    if register:
        rs.register_generator(sampler)
    found = []
    for epoch in range(2):
        with rs.seeded(task="train", epoch=epoch):
            found.append(list(sampler))
    return found
report(one=orders(1, True), again=orders(1, True), two=orders(2, True), plain=[orders(1, False), orders(2, False)])
"""


def test_case_36_a_registered_distributed_sampler_learns_epoch_and_seed(tmp_path):
    reports = on_ranks(tmp_path, 2, NOISE + SAMPLER)
    for name in ("one", "two"):
        for epoch in range(2):
            assert sorted(reports[0][name][epoch] + reports[1][name][epoch]) == list(range(16))
    for one in reports:
        assert one["one"] == one["again"]
        assert len({str(order) for order in one["one"] + one["two"]}) == 4
        assert len({str(order) for run in one["plain"] for order in run}) == 1, "torch's own, left alone, never moves"
