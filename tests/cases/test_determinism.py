"""Cases 43 (the guard), 56, 58 and 59 of the acceptance list."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import numpy as np
import pytest
import torch

import reproseed as rs
from reproseed.determinism import TABLE, WORKSPACE, report


def test_case_43_trials_stay_distinct_and_the_library_that_seeds_is_named():
    """A dependency seeds the global generators with a constant inside an innocent call."""
    pomona: dict = {"__name__": "pomona.model"}
    exec(
        compile("import numpy as np\ndef fit():\n    np.random.seed(0)\n", "/libraries/pomona/model.py", "exec"), pomona
    )

    def trials():
        draws, before = [], rs.snapshot()
        for trial in range(5):
            with rs.seeded(task="trial", epoch=trial, restore=True):
                draws.append((np.random.rand(), random.random(), torch.rand(1).item()))
                pomona["fit"]()
        assert before.moved() == []
        return draws

    rs.init(master_seed=1)
    with rs.testing.watch_seeding("warn") as watch, pytest.warns(rs.StraySeedingWarning, match="^pomona called numpy"):
        first = trials()
    assert len(set(first)) == 5
    assert {(stray.library, stray.file, stray.line) for stray in watch.found} == {
        ("pomona", "/libraries/pomona/model.py", 3)
    }
    assert len(watch.found) == 5
    assert trials() == first


@pytest.mark.parametrize("initialised", [False, True], ids=["CUDA not initialised", "CUDA initialised"])
@pytest.mark.parametrize("value", [None, ":4096:8", ":16:8", ":8:8", "yes"])
@pytest.mark.parametrize("mode", ["error", "warn"])
def test_case_56_the_cublas_variable_is_set_in_time_or_the_failure_is_told(monkeypatch, value, initialised, mode):
    """Read once by the CUDA library: set before; kept if allowed; a clear message otherwise; put back on exit."""
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: initialised)
    monkeypatch.delenv(WORKSPACE, raising=False)
    if value is not None:
        monkeypatch.setenv(WORKSPACE, value)
    flags = {name: flag.read() for name, flag in TABLE.items()}
    allowed = value in (":4096:8", ":16:8")
    scope = rs.deterministic(mode)
    if allowed or (value is None and not initialised):
        with scope:
            assert os.environ[WORKSPACE] == (value or ":4096:8")
    else:
        sentence = (
            "too late. Set it before start" if value is None else "is not a value with which cuBLAS is determinis"
        )
        expected = pytest.raises(rs.DeterminismError) if mode == "error" else pytest.warns(rs.DeterminismWarning)
        with expected as told:
            scope.__enter__()
        if mode == "warn":
            assert os.environ.get(WORKSPACE) == value
            scope.__exit__()
        assert sentence in str(told.value if mode == "error" else told[0].message)
    assert os.environ.get(WORKSPACE) == value
    assert {name: flag.read() for name, flag in TABLE.items()} == flags


def test_case_58_flags_are_set_only_on_request_and_put_back():
    """Seeds right, runs differ: kernel choice lies outside the generators; a helper turned slow flags on for good."""
    cudnn = torch.backends.cudnn
    before = (cudnn.benchmark, cudnn.deterministic, cudnn.enabled, torch.are_deterministic_algorithms_enabled())
    odd = (True, True, False, True)
    try:
        cudnn.benchmark, cudnn.deterministic, cudnn.enabled = odd[:3]
        torch.set_deterministic_debug_mode("error")

        def read():
            return cudnn.benchmark, cudnn.deterministic, cudnn.enabled, torch.are_deterministic_algorithms_enabled()

        rs.init(master_seed=1)
        with rs.seeded(task="train"):
            assert read() == odd
        with rs.deterministic("error", cudnn=True):
            assert read() == (False, True, True, True)
        with rs.deterministic("off"):
            assert read() == (True, False, False, False)
        assert read() == odd
    finally:
        cudnn.benchmark, cudnn.deterministic, cudnn.enabled = before[:3]
        torch.set_deterministic_debug_mode("default")


ORDER = "print(list({'ape', 'bee', 'cat', 'dog', 'eel', 'fox', 'gnu'}))"


def _run(code: str, **variables: str) -> str:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"} | variables
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=env, check=True
    )
    return done.stdout


def test_case_59_a_hash_seed_set_at_run_time_is_not_taken_for_one_that_works():
    """String hashes are salted at interpreter start; setting the variable inside the script is too late."""
    late = "import os; os.environ['PYTHONHASHSEED'] = '0'\n"
    assert len({_run(late + ORDER) for _ in range(6)}) > 1
    assert len({_run(ORDER, PYTHONHASHSEED="0") for _ in range(3)}) == 1
    ask = "import reproseed.determinism as d\nprint([s for s in d.report() if s.name == 'PYTHONHASHSEED'][0])\n"
    told = _run(late + ask)
    assert "in_force='no'" in told
    assert "was set in a running interpreter" in told
    assert "in_force='yes'" in _run(ask, PYTHONHASHSEED="0")


def test_case_59_the_library_does_not_write_the_variable():
    before = os.environ.get("PYTHONHASHSEED")
    rs.init(master_seed=1, deterministic="warn")
    assert os.environ.get("PYTHONHASHSEED") == before
    rs.init(master_seed=1)
    assert any(line.name == "PYTHONHASHSEED" for line in report())


def test_case_59_a_cell_run_again_gives_the_same_result():
    rs.init(master_seed=1)

    @rs.seeded(task="cell", restore=True)
    def cell():
        return random.random(), np.random.rand(), torch.rand(2).tolist()

    first = cell()
    for _ in range(2):
        random.random(), np.random.rand(3), torch.rand(5)
        assert cell() == first
