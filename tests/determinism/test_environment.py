"""Settings that are read once: before and after it is too late. CUDA's initialisation is played by its own answer."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

import reproseed as rs
from reproseed.determinism import WORKSPACE, environment

NONSENSE = (":8:8", "1", "", ":4096:2:16:8")


@pytest.fixture
def cuda(monkeypatch):
    """Play a build with CUDA; call the result to initialise it."""
    monkeypatch.delenv(WORKSPACE, raising=False)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    return lambda: monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)


def test_the_variable_is_set_before_cuda_is_initialised_and_removed_again(cuda):
    with rs.deterministic():
        assert os.environ[WORKSPACE] == ":4096:8"
    assert WORKSPACE not in os.environ


def test_the_value_can_be_chosen_and_the_variable_left_alone(cuda):
    with rs.deterministic(workspace=":16:8"):
        assert os.environ[WORKSPACE] == ":16:8"
    with rs.deterministic(workspace=None):
        assert WORKSPACE not in os.environ
    with rs.deterministic("off"):
        assert WORKSPACE not in os.environ


@pytest.mark.parametrize("value", environment.WORKSPACES)
@pytest.mark.parametrize("initialised", [False, True], ids=["before", "after"])
def test_an_allowed_value_is_never_overwritten(cuda, monkeypatch, value, initialised):
    monkeypatch.setenv(WORKSPACE, value)
    if initialised:
        cuda()
    with rs.deterministic(workspace=":16:8" if value == ":4096:8" else ":4096:8"):
        assert os.environ[WORKSPACE] == value
    assert os.environ[WORKSPACE] == value


def test_too_late_is_an_error_that_changes_nothing(cuda):
    cuda()
    sentence = (
        rf"deterministic\('error'\): {WORKSPACE} is not set and CUDA is initialised: cuBLAS reads it once, so it is "
        rf"too late\. Set it before start, `{WORKSPACE}=:4096:8 python \.\.\.`, or call init\("
    )
    with pytest.raises(rs.DeterminismError, match=sentence), rs.deterministic():
        pass
    assert WORKSPACE not in os.environ
    assert not torch.are_deterministic_algorithms_enabled()
    with rs.deterministic(workspace=None):
        assert torch.are_deterministic_algorithms_enabled()


def test_too_late_is_a_warning_in_mode_warn_and_is_not_pretended(cuda):
    cuda()
    scope = rs.deterministic("warn")
    with pytest.warns(rs.DeterminismWarning, match="so it is too late"):
        scope.__enter__()
    try:
        assert WORKSPACE not in os.environ
        assert torch.are_deterministic_algorithms_enabled()
    finally:
        scope.__exit__()


@pytest.mark.parametrize("value", NONSENSE)
@pytest.mark.parametrize("initialised", [False, True], ids=["before", "after"])
def test_nonsense_is_reported_and_kept(cuda, monkeypatch, value, initialised):
    monkeypatch.setenv(WORKSPACE, value)
    if initialised:
        cuda()
    sentence = "is not a value with which cuBLAS is deterministic; allowed are :4096:8 and :16:8. Change or remove it"
    with pytest.raises(rs.DeterminismError, match=sentence), rs.deterministic():
        pass
    with pytest.warns(rs.DeterminismWarning, match=sentence), rs.deterministic("warn"):
        assert os.environ[WORKSPACE] == value
    assert os.environ[WORKSPACE] == value


@pytest.mark.parametrize(
    ("value", "initialised", "at_start", "in_force", "why"),
    [
        (None, False, True, "no", "it is not set"),
        (None, True, True, "no", "so it is too late"),
        (":16:8", False, False, "yes", "CUDA is not initialised yet"),
        (":16:8", True, True, "yes", "the process was started with it"),
        (":16:8", True, False, "unknown", "CUDA is initialised: cuBLAS may have come first"),
        (":16:8", True, None, "unknown", "cuBLAS may have come first"),
        (":8:8", False, True, "no", "not a value with which cuBLAS is deterministic"),
    ],
)
def test_the_report_tells_set_from_in_force(cuda, monkeypatch, value, initialised, at_start, in_force, why):
    if value is not None:
        monkeypatch.setenv(WORKSPACE, value)
    if initialised:
        cuda()
    monkeypatch.setattr(environment, "was_set_at_start", lambda name: at_start)
    line = next(s for s in rs.determinism.report() if s.name == WORKSPACE)
    assert (line.current, line.in_force) == (value, in_force)
    assert why in line.why


def test_the_initial_environment_is_that_of_the_start():
    code = """
import os
from reproseed.determinism.environment import was_set_at_start
os.environ["AT_START"], os.environ["LATER"] = "1", "1"
print(was_set_at_start("AT_START"), was_set_at_start("LATER"))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=os.environ | {"AT_START": "1"}
    )
    assert done.stdout.split() in (["True", "False"], ["None", "None"])


ASK = "from reproseed.determinism.environment import hash_seed_in_force as ask\n"


@pytest.mark.parametrize(
    ("at_start", "code", "in_force", "why"),
    [
        (None, "", "False", "PYTHONHASHSEED is not set"),
        ("random", "", "False", "PYTHONHASHSEED is not set"),
        ("0", "", "True", "was started with PYTHONHASHSEED=0"),
        ("123", "", "True", "was started with PYTHONHASHSEED=123"),
        (None, "import os; os.environ['PYTHONHASHSEED'] = '0'", "False", "was set in a running interpreter"),
        ("5", "import os; os.environ['PYTHONHASHSEED'] = '6'", "False", "was set in a running interpreter"),
        ("5", "import os; os.environ['PYTHONHASHSEED'] = 'six'", "None", "could not be found out"),
        ("0", "import os; del os.environ['PYTHONHASHSEED']", "True", "its children will not be"),
    ],
)
def test_the_hash_seed_is_what_the_interpreter_was_started_with(at_start, code, in_force, why):
    env = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    if at_start is not None:
        env["PYTHONHASHSEED"] = at_start
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{ASK}print(*ask())"], capture_output=True, text=True, timeout=60, env=env
    )
    answer, _, reason = done.stdout.partition(" ")
    assert answer == in_force, done.stderr
    assert why in reason
