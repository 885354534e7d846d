"""The commands, on scripts that know nothing of the tracer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from reproseed.trace import Arm, read, trace_arms, trace_runs
from reproseed.trace.arms import Passes
from reproseed.trace.commands import parse_at, parse_steps
from reproseed.trace.errors import TraceError

SCRIPT = """
import sys
import torch
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    if step == 2 and "hurt" in sys.argv:
        model[0].weight.data[0, 0] += 1e-3
    x = torch.randn(5, 3)
    if step == 2 and "noisy" in sys.argv:
        torch.rand(3)
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(loss.item().hex())
sys.exit(int(sys.argv[-1]) if sys.argv[-1].isdigit() else 0)
"""


def call(*argv, cwd):
    command = [sys.executable, "-m", "reproseed.trace", *argv]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=240, env=dict(os.environ))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a script, and traces of it: a plain run, and one with a fault."""
    folder = tmp_path_factory.mktemp("traces")
    (folder / "script.py").write_text(SCRIPT)
    for name, word in (("a", "plain"), ("b", "hurt")):
        done = call("trace", "-o", f"{name}.jsonl.gz", "--", sys.executable, "script.py", word, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert f"wrote {name}.jsonl.gz" in done.stderr
    return folder


@pytest.mark.slow
def test_two_runs_of_an_unchanged_script_are_compared(folder):
    done = call("diff", "a.jsonl.gz", "b.jsonl.gz", "--json", "found.json", cwd=folder)
    assert done.returncode == 1, done.stderr
    assert "PARAMS_EDITED" in done.stdout
    found = json.loads((folder / "found.json").read_text())["comparisons"][0]["divergence"]
    assert found["address"] == {"optimizer_step": 2}
    assert call("diff", "a.jsonl.gz", "a.jsonl.gz", cwd=folder).returncode == 0


@pytest.mark.slow
def test_a_traced_script_prints_and_returns_what_it_does_untraced(folder):
    command = [sys.executable, "script.py", "plain", "5"]
    plain = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240)
    traced = call("trace", "-o", "c.jsonl.gz", "--", *command, cwd=folder)
    assert (traced.returncode, traced.stdout) == (plain.returncode, plain.stdout)
    assert plain.returncode == 5


@pytest.mark.slow
def test_usage_and_unreadable_files_have_exit_codes_of_their_own(folder):
    (folder / "no.jsonl.gz").write_text("hello")
    unreadable = call("diff", "a.jsonl.gz", "no.jsonl.gz", cwd=folder)
    assert unreadable.returncode == 3
    assert "no.jsonl.gz is no trace" in unreadable.stderr
    assert call("diff", "a.jsonl.gz", cwd=folder).returncode == 2
    assert call("diff", cwd=folder).returncode == 2
    missing = call("trace", "-o", "d.jsonl.gz", "--", "no-such-program", cwd=folder)
    assert missing.returncode == 2
    assert "cannot run 'no-such-program': No such file or directory. Write the command after" in missing.stderr
    nothing = call("trace", "-o", "d.jsonl.gz", "--", sys.executable, "-c", "1", cwd=folder)
    assert nothing.returncode == 2
    assert "no trace was written to d.jsonl.gz" in nothing.stderr


@pytest.mark.slow
def test_two_arms_are_run_and_explained_as_plain_data(folder, tmp_path):
    plain, noisy = (Arm([sys.executable, "script.py", word], cwd=str(folder)) for word in ("plain", "noisy"))
    found = trace_arms(plain, noisy, Passes(folder=tmp_path))
    assert json.loads(json.dumps(found)) == found
    assert (found["cause"], found["confidence"]) == ("RNG_EXTRA_DRAW", "certain")
    assert found["address"] == {"optimizer_step": 2}
    assert found["evidence"][0].startswith("torch.cpu: same stream, B drew 3 words more")


@dataclass
class Run:
    argv: list[str]
    env: dict[str, str]
    directory: Path


@pytest.mark.slow
def test_recorded_runs_are_made_again_elsewhere(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    body = SCRIPT.rpartition("sys.exit")[0]
    (folder / "saving.py").write_text(f"import os\nopen(os.environ['SAVED'], 'w').close()\n{body}")
    runs = []
    for name in ("plain", "hurt"):
        kept = tmp_path / name
        kept.mkdir()
        runs.append(Run([sys.executable, "saving.py", name, str(kept / "x")], {"SAVED": str(kept / "saved")}, kept))
    found = trace_runs(*runs)
    assert found["cause"] == "PARAMS_EDITED", found
    assert [list(run.directory.iterdir()) for run in runs] == [[], []]


def test_an_arm_that_cannot_be_run_is_a_problem_not_an_error(tmp_path):
    arm = Arm(["no-such-program"])
    found = trace_arms(arm, arm, Passes(folder=tmp_path))
    assert found["divergence"] is None
    assert "cannot run 'no-such-program'" in found["problem"]


def test_the_header_says_what_may_change_bits(folder):
    header = read(folder / "a.jsonl.gz").header
    assert header["script"] == "script.py"
    assert header["versions"]["torch"]
    assert header["machine"]["capability"]
    assert str(folder) not in json.dumps(header)


@pytest.mark.parametrize(
    ("text", "wanted"), [("0:200", (0, 200)), ("5:", (5, None)), (":7", (0, 7)), (None, None)], ids=str
)
def test_a_range_of_steps_is_read(text, wanted):
    assert parse_steps(text) == wanted


@pytest.mark.parametrize(("text", "wanted"), [("1:8", ("1", 8)), ("8", (None, 8)), (None, None)], ids=str)
def test_a_step_is_read(text, wanted):
    assert parse_at(text) == wanted


@pytest.mark.parametrize("text", ["5", "a:b", ""])
def test_a_bad_range_is_refused(text):
    with pytest.raises(TraceError, match=r"--steps .*: a range such as 0:200 is wanted\."):
        parse_steps(text)


@pytest.mark.parametrize("text", ["1:x", "x"])
def test_a_bad_step_is_refused(text):
    with pytest.raises(TraceError, match=r"--at .*: epoch and step are wanted, such as 1:8\."):
        parse_at(text)
