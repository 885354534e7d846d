"""The guide of NVIDIA's fwr13y seeder, followed with only the import changed."""

from __future__ import annotations

import importlib.util
import os
import random
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import launch
import pytest
import torch

import reproseed as seeder

SCRIPT = Path(__file__).parent.parent / "examples" / "fwr13y_guide.py"
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="the examples are not in this installation")


def _load(path: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def guide() -> Any:
    return _load(SCRIPT, "fwr13y_guide")


def _equal(one: Any, other: Any) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one["weights"], other["weights"], strict=True))


def test_it_trains_and_resumes_bit_exactly_at_an_epoch_boundary(guide, tmp_path, capsys):
    """The guide's own test: whole, half, and from there to the end; another seed and no seed spread."""
    common = ["--epochs", "4", "--checkpoint", str(tmp_path / "run.pt")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        full = guide.main(["--seed", "42", *common])
        again = guide.main(["--seed", "42", *common])
        half = guide.main(["--seed", "42", "--stop-after", "2", *common])
        rest = guide.main(["--seed", "42", "--resume", *common])
        other = guide.main(["--seed", "43", *common])
        drawn = guide.main(common)
        replayed = guide.main(["--seed", str(drawn["seed"]), *common])
    assert full["losses"] == again["losses"] == half["losses"] + rest["losses"]
    assert _equal(full, again)
    assert _equal(full, rest)
    assert len({str(one["losses"]) for one in (full, other, drawn)}) == 3
    assert replayed["losses"] == drawn["losses"]
    assert full["losses"][-1] < full["losses"][0]
    assert "seed 42  epoch 3" in capsys.readouterr().out


def test_the_example_runs_as_printed(tmp_path):
    command = [sys.executable, "-W", "error", str(SCRIPT), "--seed", "1", "--epochs", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=tmp_path, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert re.fullmatch(r"seed 1  epoch 0  loss \d\.\d{6}\n", done.stdout)


@pytest.mark.slow
@pytest.mark.distributed
def test_it_trains_and_resumes_on_two_ranks(tmp_path):
    def losses(*arguments: str) -> list[str]:
        checkpoint = str(tmp_path / "run.pt")
        done = launch.torchrun(SCRIPT, 2, "--seed", "5", "--epochs", "2", "--checkpoint", checkpoint, *arguments)
        assert done.returncode == 0, done.stdout[-4000:]
        assert "Warning" not in done.stdout.replace("FutureWarning: `torch.distributed.", "")
        return [line for line in done.stdout.splitlines() if line.startswith("seed 5")]

    full = losses()
    assert len(full) == 2
    assert losses("--stop-after", "1") + losses("--resume") == full


def test_every_call_of_the_guide_has_its_positions_and_names():
    seeder.init(3, 4, 1)
    seeder.init(master_seed=3, ngpus=4, local_rank=1)
    assert seeder.get_master_seed() == 3
    seeder.reseed(1)
    first = random.random()
    seeder.reseed(task=1, epoch=0)
    assert random.random() == first
    seeder.reseed(1, 1)
    assert random.random() != first


def test_registered_methods_get_seeds_of_their_own_unless_shared():
    def given(rank):
        got: dict[str, list[int]] = {"one": [], "two": [], "all": []}
        seeder.init(3, ngpus=2, local_rank=rank)
        seeder.register_generator(got["one"].append)
        seeder.register_generator(got["two"].append)
        seeder.register_generator(got["all"].append, True)
        for epoch in range(3):
            seeder.reseed(1, epoch)
        seeder.unregister_generator(got["one"].append)
        seeder.reseed(1, 3)
        return got

    zero, one = given(0), given(1)
    assert [len(zero[name]) for name in ("one", "two", "all")] == [4, 5, 5]  # once at registration, once an epoch
    seeds = [seed for got in (zero, one) for name in ("one", "two") for seed in got[name][1:]]
    assert len(set(seeds)) == len(seeds)
    assert zero["all"] == one["all"]
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_fwr13ys_seeds_repeat_and_these_do_not():
    """Its master seeds 0 and 1 share all but one of the seeds of 8 ranks and 10 epochs."""
    seeds: set[int] = set()
    for master in range(4):
        for rank in range(8):
            seeder.init(master, ngpus=8, local_rank=rank)
            for epoch in range(10):
                seeder.reseed(1, epoch)
                seeds.add(torch.initial_seed())
    assert len(seeds) == 4 * 8 * 10
