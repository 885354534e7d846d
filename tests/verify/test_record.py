import json
import subprocess
import sys

import numpy as np
import pytest
import torch

from reproseed.verify import final_state, log_metric
from reproseed.verify.errors import FinalStateError, MetricsError
from reproseed.verify.readers import read_jsonl


@pytest.fixture
def metrics(tmp_path, monkeypatch):
    monkeypatch.setenv("REPROSEED_METRICS", str(tmp_path / "metrics"))
    return tmp_path / "metrics"


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("REPROSEED_FINAL_STATE", str(tmp_path / "state.json"))
    return tmp_path / "state.json"


@pytest.fixture(autouse=True)
def _no_ambient_run(monkeypatch):
    for name in ("REPROSEED_METRICS", "REPROSEED_FINAL_STATE", "RANK"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("value", "expected", "dtype"),
    [
        pytest.param(0.1, 0.1, "float64", id="float"),
        pytest.param(3, 3, "int64", id="int"),
        pytest.param(True, 1, "int64", id="bool"),
        pytest.param(torch.tensor(0.1), float(np.float32(0.1)), "float32", id="float32"),
        pytest.param(torch.tensor(0.1, dtype=torch.bfloat16), 0.10009765625, "bfloat16", id="bf16"),
        pytest.param(torch.tensor([0.1], dtype=torch.float16), 0.0999755859375, "float16",
                     id="fp16, one element"),
        pytest.param(torch.tensor(0.5, requires_grad=True), 0.5, "float32", id="with gradient"),
        pytest.param(np.float32(0.1), float(np.float32(0.1)), "float32", id="numpy scalar"),
        pytest.param(np.array([2.5]), 2.5, "float64", id="numpy array"),
        pytest.param(float("nan"), "nan", "float64", id="NaN"),
        pytest.param(torch.tensor(-float("inf")), "-inf", "float32", id="infinity"),
    ],
)  # fmt: skip
def test_a_value_is_written_in_full_with_its_dtype(metrics, value, expected, dtype):
    log_metric("loss", value, step=np.int64(3), epoch=1)
    assert json.loads(metrics.read_text()) == {
        "step": 3, "epoch": 1, "name": "loss", "value": expected, "dtype": dtype,
    }  # fmt: skip


def test_what_is_written_is_read_back_bit_for_bit(metrics):
    values = np.random.default_rng(0).normal(size=200) * 10.0 ** np.arange(-100, 100)
    for value in values:
        log_metric("loss", value)
    assert [p.value for p in read_jsonl(metrics)] == values.tolist()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (torch.ones(2), r"'loss': found a Tensor of shape \(2,\); expected one number"),
        ("high", "'loss': found 'high', a str; expected one number"),
        (None, "found None, a NoneType"),
    ],
    ids=["tensor", "text", "None"],
)
def test_what_is_not_one_number_is_refused(metrics, value, message):
    with pytest.raises(MetricsError, match=message):
        log_metric("loss", value)
    assert not metrics.exists()


def test_outside_of_a_verification_nothing_happens(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log_metric("loss", "not looked at")
    final_state(anything=object())
    assert list(tmp_path.iterdir()) == []


def test_other_ranks_report_under_names_of_their_own(metrics, state, monkeypatch):
    log_metric("loss", 1.0)
    monkeypatch.setenv("RANK", "1")
    log_metric("loss", 2.0)
    final_state(x=1)
    assert [p.name for p in read_jsonl(metrics)] == ["loss", "loss@rank1"]
    assert (state.parent / "state.json.rank1").exists()


def test_a_second_final_state_adds_and_replaces(state):
    final_state(a={"x": 1, "y": 2}, b=1)
    final_state(a={"x": 3})
    assert set(json.loads(state.read_text())["entries"]) == {"a/x", "b"}


def test_a_value_without_bits_is_refused_by_its_path(state):
    with pytest.raises(FinalStateError, match=r"the final state 'a/x/0' is a builtins\.object"):
        final_state(a={"x": [object()]})


def test_importing_the_package_is_cheap():
    heavy = ["torch", "numpy", "scipy", "matplotlib", "rich", "typer", "xxhash"]
    code = f"import reproseed.verify, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_the_check_of_cheap_imports_can_fail():
    code = "import reproseed.verify.api, numpy, sys; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "True"


def test_reporting_draws_nothing(metrics, state):
    model = torch.nn.Linear(3, 2)
    before = torch.get_rng_state(), np.random.get_state()[1].tolist()
    log_metric("loss", model(torch.ones(3)).sum())
    final_state(model=model)
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1] == np.random.get_state()[1].tolist()
