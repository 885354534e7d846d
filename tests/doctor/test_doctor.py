"""`reproseed doctor`: findings as data, a table of what matters, JSON, exit codes."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys

import numpy as np
import pytest
import torch

import reproseed as rs
from reproseed.determinism import WORKSPACE, environment
from reproseed.doctor import DoctorError, Finding, examine, main, render, run_doctor
from reproseed.doctor.script import examine_script


def _by_topic(topic, findings=None):
    return [finding for finding in (examine() if findings is None else findings) if finding.topic == topic]


def test_an_examination_changes_and_draws_nothing():
    with rs.testing.assert_leaves_no_trace():
        examine()


def test_a_fresh_install_is_told_only_what_matters_there(monkeypatch):
    """In a new process: nothing of CUDA, cuDNN or flags nobody asked for, and no problem."""
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONHASHSEED", WORKSPACE, "OMP_NUM_THREADS")}
    command = [sys.executable, "-m", "reproseed.doctor", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env)
    findings = [Finding(**line) for line in json.loads(done.stdout)]
    told = {finding.topic for finding in findings if finding.level != "ok"}
    expected = {"hash seed", "threads", "determinism"} | ({"cuBLAS"} if environment.uses_cublas() else set())
    assert told <= expected
    assert "determinism" in told
    assert done.returncode == 0
    assert all(finding.do for finding in findings if finding.level != "ok")


def test_with_everything_set_nothing_is_left_to_say():
    env = os.environ | {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", WORKSPACE: ":4096:8"}
    code = """
import reproseed as rs
from reproseed.doctor import run_doctor
with rs.deterministic():
    raise SystemExit(run_doctor())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == 0, done.stderr
    assert "no problems, no notes." in done.stdout


def test_determinism_that_is_on_is_well():
    """In a fresh process: code that was compiled earlier keeps the flags of then, which is told."""
    code = (
        "import reproseed as rs\n"
        "from reproseed.doctor import examine\n"
        "def level(): return [f.level for f in examine() if f.topic == 'determinism']\n"
        "with rs.deterministic(): print(level())\n"
        "print(level())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.splitlines() == ["['ok']", "['note']"]


def test_a_flag_that_was_asked_for_and_changed_is_a_problem():
    with rs.deterministic():
        torch.backends.cudnn.benchmark = True
        (asked,) = [f for f in _by_topic("flag cudnn.benchmark") if "was asked for" in f.found]
        assert asked.level == "problem"


def test_cublas_matters_where_it_is(monkeypatch):
    assert environment.uses_cublas() or _by_topic("cuBLAS") == []
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.delenv(WORKSPACE, raising=False)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    assert _by_topic("cuBLAS")[0].level == "note"
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    assert _by_topic("cuBLAS")[0].level == "problem"
    monkeypatch.setenv(WORKSPACE, "nonsense")
    assert "is not a value with which" in _by_topic("cuBLAS")[0].found


def test_a_late_hash_seed_is_a_problem(monkeypatch):
    monkeypatch.setenv("PYTHONHASHSEED", "12345")
    (finding,) = _by_topic("hash seed")
    assert finding.level == "problem"
    assert finding.do == "Start with `PYTHONHASHSEED=12345 python ...`."


class Holder:
    def __init__(self, rng):
        self.rng = rng


@pytest.mark.parametrize(
    "make",
    [lambda: random.Random(1), lambda: np.random.default_rng(1), lambda: np.random.RandomState(1), torch.Generator],
    ids=["Random", "default_rng", "RandomState", "torch.Generator"],
)
def test_generators_alive_are_found_with_their_holder_until_they_are_registered(make):
    holder = Holder(make())
    kind = f"{type(holder.rng).__module__}.{type(holder.rng).__qualname__}"
    sentence = f"{kind} in {__name__}.Holder is not registered: scopes neither seed nor restore it."
    assert sentence in [finding.found for finding in _by_topic("generator")]
    rs.init(master_seed=1)
    rs.register_generator(holder.rng, name="mine")
    findings = examine()
    assert sentence not in [finding.found for finding in findings]
    assert _by_topic("generators", findings)[0].found == "1 registered."


def test_persistent_workers_are_a_problem():
    data = torch.utils.data.TensorDataset(torch.zeros(3))
    loader = torch.utils.data.DataLoader(data, num_workers=1, persistent_workers=True)
    (finding,) = _by_topic("DataLoader")
    assert finding.level == "problem"
    assert "seeded_loader" in finding.do
    del loader


def test_dropout_between_recurrent_layers_matters_on_cuda_only(monkeypatch):
    net = torch.nn.LSTM(2, 2, num_layers=2, dropout=0.5)
    assert environment.uses_cublas() or _by_topic("LSTM") == []
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    assert "a reseed does not reach it" in _by_topic("LSTM")[0].found
    del net


SCRIPT = """
import os, torch
from torch.utils.data import DataLoader
os.environ["PYTHONHASHSEED"] = "0"
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
torch.backends.cudnn.benchmark = True
torch.manual_seed(0)
loader = DataLoader([], num_workers=2, persistent_workers=True)
net = torch.nn.LSTM(3, 4, num_layers=2, dropout=0.5)
net = torch.compile(net)
print("never printed")
"""


def test_hints_on_a_script_come_with_file_and_line_and_it_is_not_run(tmp_path, capsys):
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    found = {(finding.topic, int(finding.where.rsplit(":", 1)[1])) for finding in examine_script(str(path))}
    assert found == {
        ("environment", 4),
        ("environment", 5),
        ("cudnn.benchmark", 6),
        ("seeding", 7),
        ("DataLoader", 8),
        ("LSTM", 9),
        ("torch.compile", 10),
    }
    assert "never printed" not in capsys.readouterr().out


def test_a_script_that_is_right_gets_no_hint(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(
        "import os, torch, re\nimport reproseed as rs\nrs.init(master_seed=1)\nos.environ['OTHER'] = '1'\n"
        "re.compile('a')\ncompile('1', 'a', 'eval')\ntorch.backends.cudnn.benchmark = False\n"
        "net = torch.nn.LSTM(3, 4, num_layers=2, dropout=0.0)\nstream = rs.stream('x').seed(32)\n"
    )
    assert list(examine_script(str(path))) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [(None, "cannot read the script"), ("def", "is not Python that this interpreter reads")],
    ids=["missing", "broken"],
)
def test_a_script_that_cannot_be_read_is_an_error_and_exit_code_2(tmp_path, capsys, text, sentence):
    path = tmp_path / "train.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(DoctorError, match=sentence):
        list(examine_script(str(path)))
    assert run_doctor(str(path)) == 2
    assert sentence in capsys.readouterr().err


def test_the_exit_code_tells_problems(tmp_path, capsys):
    path = tmp_path / "train.py"
    path.write_text("import torch\ntorch.backends.cudnn.benchmark = True\n")
    assert main([str(path), "--json"]) == 1
    lines = json.loads(capsys.readouterr().out)
    assert {"topic", "level", "found", "do", "where"} == set(lines[0])
    assert any(line["where"].endswith("train.py:2") for line in lines)


def test_the_table_lists_the_worst_first_and_what_is_well_only_on_request():
    findings = [
        Finding("versions", "ok", "torch 2"),
        Finding("threads", "note", "2 threads [here]", "Pin them."),
        Finding("flag", "problem", "was changed", "Change it back.", "train.py:3"),
        Finding("run", "ok", "Seeder(1)"),
    ]
    short, long = io.StringIO(), io.StringIO()
    render(findings, file=short)
    render(findings, file=long, everything=True)
    text = short.getvalue()
    assert text.startswith("torch 2\n")
    assert text.index("was changed") < text.index("2 threads [here]")
    assert "train.py:3" in text
    assert text.endswith("1 problem, 1 note.\n")
    assert "Seeder(1)" not in text
    assert "Seeder(1)" in long.getvalue()


def test_without_rich_the_way_out_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert run_doctor() == 2
    assert "pip install 'reproseed[cli]', or ask for --json." in capsys.readouterr().err


def test_it_runs_inside_a_training(capsys):
    rs.init(master_seed=4)
    assert any(finding.topic == "run" and "Seeder(4" in finding.found for finding in examine())
