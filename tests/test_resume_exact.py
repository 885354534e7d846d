"""A run that stops after any step and resumes in a new process ends with the same bits."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import reproseed as rs

SCRIPT = Path(__file__).with_name("resume_script.py")
STEPS = range(15)


def _script(folder: Path, workers: int, *arguments: Any, code: int = 0) -> None:
    command = [sys.executable, "-W", "error", str(SCRIPT), str(folder), str(workers), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == code, done.stderr[-4000:]


def _log(folder: Path, name: str) -> list[Any]:
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


def _after(full: list[Any], step: int) -> list[Any]:
    """Return the lines after a step, counted over the whole run."""
    index = next(i for i, line in enumerate(full) if line[:2] == [step // 5, step % 5])
    return full[index + 1 :]


@pytest.fixture(scope="module", params=[0, 2], ids=["0 workers", "2 workers"])
def uninterrupted(request, tmp_path_factory) -> tuple[int, Path, list[Any]]:
    folder = tmp_path_factory.mktemp("full")
    _script(folder, request.param, "full")
    return request.param, folder, _log(folder, "full")


@pytest.mark.slow
def test_resuming_from_every_step_is_bit_exact(uninterrupted):
    """Losses, weights, optimizer, every generator's state, and what is drawn after and between the epochs."""
    workers, folder, full = uninterrupted
    assert len(full) == 3 * (5 + 1) + 3
    assert len({line[2] for line in full}) == len(full)  # every loss and every draw is another one
    _script(folder, workers, "resume", *STEPS)
    for step in STEPS:
        assert _log(folder, f"from-{step}") == _after(full, step), f"resumed after step {step}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "how", "code"),
    [(2, "kill", -signal.SIGKILL), (9, "raise", -signal.SIGINT)],
    ids=["killed in an epoch", "an exception at the end of one"],
)
def test_a_run_that_was_stopped_resumes_in_a_process_of_its_own(uninterrupted, tmp_path, step, how, code):
    workers, _, full = uninterrupted
    _script(tmp_path, workers, "stop", step, how, code=code)
    assert not (tmp_path / f"{step + 1}.pt").exists()
    _script(tmp_path, workers, "resume", step)
    assert _log(tmp_path, f"from-{step}") == _after(full, step)


def test_a_plain_loader_with_persistent_workers_raises():
    rs.init(master_seed=1)
    loader = torch.utils.data.DataLoader(range(4), num_workers=1, persistent_workers=True)
    message = (
        r"Workers that outlive an epoch keep old streams; use rs\.data\.seeded_loader\(\.\.\.\), same arguments, or "
        r"persistent_workers=False\."
    )
    with rs.seeded(task="train", epoch=0), pytest.raises(rs.ScopeError, match=message):
        rs.steps(loader)
