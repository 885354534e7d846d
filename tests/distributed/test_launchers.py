"""`init` under the ways in which ranks are started: each rank finds its place, and all agree."""

from __future__ import annotations

import importlib.util
import json
import sys
import textwrap

import launch
import pytest

pytestmark = [pytest.mark.distributed, pytest.mark.slow]


# What each rank does once it has a group, and what it writes: no rank is told which one it is.
WORK = """
import json, os, pathlib, random, subprocess, sys
import numpy as np, torch, torch.distributed as dist
import torch.multiprocessing
import reproseed as rs
from reproseed.run import current_seeder
OUT = pathlib.Path(sys.argv[1])

def work(before=None):
    rs.init()
    drawn = rs.get_master_seed()
    rs.init(5)
    base = [random.random(), torch.rand(()).item()]
    with rs.seeded(task="train", epoch=0):
        train = [random.random(), float(np.random.rand()), torch.rand(()).item()]
    found = {"before": before, "place": list(current_seeder().place), "drawn": drawn, "base": base, "train": train}
    (OUT / f"rank-{dist.get_rank()}.json").write_text(json.dumps(found))
    dist.barrier()
"""

SPAWN = """
def one(index, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=index, world_size=2)
    work()
    dist.destroy_process_group()

if __name__ == "__main__":
    torch.multiprocessing.spawn(one, args=(str(OUT / "store"),), nprocs=2)
"""

# Under srun and mpirun a script usually reads the launcher's variables itself to make its group.
BY_VARIABLES = """
RANK, SIZE = {names!r}

def start(number):
    environment = {{**os.environ, RANK: str(number), SIZE: "2"}}
    return subprocess.Popen([sys.executable, __file__, str(OUT), "rank"], env=environment)

if len(sys.argv) == 2:
    started = [start(number) for number in range(2)]
    try:
        sys.exit(max(process.wait(90) for process in started))
    finally:
        for process in started:
            process.kill()
rs.init(5)
before = list(current_seeder().place)
try:
    rs.init()
except rs.RankError as error:
    before.append(str(error))
store = f"file://{{OUT / 'store'}}"
dist.init_process_group("gloo", init_method=store, rank=int(os.environ[RANK]), world_size=int(os.environ[SIZE]))
work(before)
dist.destroy_process_group()
"""

ACCELERATE = """
from accelerate import Accelerator, debug_launcher

def one():
    accelerator = Accelerator(cpu=True)
    work([accelerator.process_index, accelerator.num_processes])

if __name__ == "__main__":
    debug_launcher(one, num_processes=2)
"""

RAY = """
def one():
    import ray.train
    context = ray.train.get_context()
    work([context.get_world_rank(), context.get_world_size()])

if __name__ == "__main__":
    import ray
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer
    ray.init(num_cpus=3, include_dashboard=False, _node_ip_address="127.0.0.1", log_to_driver=False,
             object_store_memory=100 * 1024 * 1024)
    try:
        TorchTrainer(
            one, scaling_config=ScalingConfig(num_workers=2), torch_config=TorchConfig(backend="gloo"),
            run_config=RunConfig(storage_path=str(OUT)),
        ).fit()
    finally:
        ray.shutdown()
"""


def _run(tmp_path, body, timeout=launch.TIMEOUT, **env):
    script = tmp_path / "script.py"
    script.write_text(WORK + textwrap.dedent(body))
    done = launch.run_killing([sys.executable, str(script), str(tmp_path)], launch.environment(**env), timeout)
    assert done.returncode == 0, done.stdout[-6000:]
    files = [tmp_path / f"rank-{rank}.json" for rank in range(2)]
    assert all(file.exists() for file in files), done.stdout[-6000:]
    return [json.loads(file.read_text()) for file in files]


def _agree(reports):
    assert [one["place"] for one in reports] == [[0, 2], [1, 2]]
    assert reports[0]["drawn"] == reports[1]["drawn"]
    assert reports[0]["base"] == reports[1]["base"]
    assert all(one != other for one, other in zip(reports[0]["train"], reports[1]["train"], strict=True))


def test_spawned_ranks_agree(tmp_path):
    _agree(_run(tmp_path, SPAWN))


@pytest.mark.parametrize(
    "names",
    [("SLURM_PROCID", "SLURM_NTASKS"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")],
    ids=["slurm", "openmpi"],
)
def test_ranks_that_know_their_place_from_variables_agree(tmp_path, names):
    """Before the group a chosen seed works and a drawn one says what to do; with the group both work."""
    reports = _run(tmp_path, BY_VARIABLES.format(names=names))
    _agree(reports)
    for rank, one in enumerate(reports):
        assert one["before"][:2] == [rank, 2]
        assert "master_seed=None with 2 ranks: the drawn seed cannot be shared yet" in one["before"][2]


def test_all_launchers_give_a_rank_the_same_streams(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    spawned = _run(one, SPAWN)
    slurm = _run(other, BY_VARIABLES.format(names=("SLURM_PROCID", "SLURM_NTASKS")))
    for name in ("base", "train"):
        assert [report[name] for report in spawned] == [report[name] for report in slurm]


# Looked for, not imported: importing Ray changes the environment.
@pytest.mark.integration
@pytest.mark.skipif(importlib.util.find_spec("accelerate") is None, reason="needs accelerate")
def test_accelerates_launcher(tmp_path):
    reports = _run(tmp_path, ACCELERATE)
    _agree(reports)
    assert [one["before"] for one in reports] == [[0, 2], [1, 2]]


@pytest.mark.integration
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs ray[train]")
def test_ray_train(tmp_path):
    reports = _run(tmp_path, RAY, 200, RAY_USAGE_STATS_ENABLED="0", RAY_DISABLE_IMPORT_WARNING="1")
    _agree(reports)
    assert [one["before"] for one in reports] == [[0, 2], [1, 2]]
