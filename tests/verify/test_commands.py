import io
import json
import shlex
import subprocess
import sys

import pytest
from rich.console import Console

from reproseed.verify.commands import duration, run_compare, run_study, run_verify


@pytest.fixture
def console():
    return Console(file=io.StringIO(), width=120)


def text_of(console):
    return " ".join(console.file.getvalue().split())


def test_verify_prints_verdict_reasons_and_ready_commands(toy_command, tmp_path, console, capsys):
    code = run_verify(
        toy_command("optimizer"), out=tmp_path, repeats=2, jobs=2, console=console,
        json=str(tmp_path / "copy.json"),
    )  # fmt: skip
    text = text_of(console)
    assert code == 1
    assert "Not reproducible. Asked: equal bit for bit. Reached: none." in text
    assert "the checkpoint lacks something" in text
    assert "resume resume-0 full-0 1/18 + 2/5 state logic" in text
    assert "reproseed diff full-0.trace.jsonl.gz resume-0.trace.jsonl.gz" in text
    assert (tmp_path / "report.html").exists()
    assert json.loads((tmp_path / "copy.json").read_text())["verdict"] == "FAIL"
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "[9/9]" in captured.err


def test_commands_are_printed_on_one_line_for_copying(toy_command, tmp_path):
    console = Console(file=io.StringIO(), width=60)
    run_verify(toy_command("optimizer"), out=tmp_path, repeats=2, jobs=2, console=console)
    lines = console.file.getvalue().splitlines()
    assert any("reproseed trace -o full-0" in line and "--fault optimizer" in line for line in lines)


def test_json_alone_goes_to_the_output(toy_command, tmp_path, console):
    code = run_verify(
        toy_command(), out=tmp_path, repeats=2, jobs=2, arms=("full", "other"),
        console=console, json="-",
    )  # fmt: skip
    assert code == 0
    assert json.loads(console.file.getvalue())["verdict"] == "PASS"


def test_the_end_of_a_failed_runs_output_is_printed(toy_command, tmp_path, console):
    code = run_verify(toy_command("fails"), out=tmp_path, repeats=2, jobs=2, console=console)
    assert code == 3
    assert "The end of what resume-0 printed" in text_of(console)
    assert "KeyError: 'optimizer'" in text_of(console)


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ([], {}, "TemplateError: the command to verify is empty"),
        (["x", "{sead}"], {}, "TemplateError: unknown placeholder {sead}"),
        (["x"], {"repeats": 1}, "UsageError: repeats is 1"),
        (["x"], {"metrics_from": "xml"}, "MetricsError: unknown form"),
    ],
    ids=["empty", "placeholder", "repeats", "metrics"],
)
def test_wrong_usage_ends_with_2_before_anything_runs(command, options, message, tmp_path, console):
    assert run_verify(command, out=tmp_path / "out", console=console, **options) == 2
    assert message in text_of(console)
    assert not (tmp_path / "out").exists()


def test_a_fault_of_the_tool_is_not_taken_for_a_divergence(toy_command, tmp_path, console):
    (tmp_path / "file").write_text("")
    assert run_verify(toy_command(), out=tmp_path / "file" / "out", console=console) == 3
    assert "NotADirectoryError" in text_of(console)


def test_study_prints_its_table(scripts, tmp_path, console):
    command = [sys.executable, str(scripts / "tasks.py")]
    code = run_study(command, tasks=["init"], repeats=4, epochs=1, jobs=2, out=tmp_path, console=console)
    assert code == 0
    assert "Spread of loss by what is varied" in text_of(console)
    assert "init 4" in text_of(console)


def test_compare_prints_its_table(scripts, tmp_path, console):
    command = f"{sys.executable} {scripts / 'tasks.py'}"
    code = run_compare(command, f"{command} 1", repeats=6, epochs=1, jobs=2, out=tmp_path, console=console)
    assert code == 0
    assert "The first is better (lower is better)" in text_of(console)
    assert "probability that the second is better 0.00" in text_of(console)


@pytest.mark.parametrize(("seconds", "text"), [(3.2, "3 s"), (75, "1 min 15 s"), (7300, "2 h 1 min")])
def test_durations_are_in_words(seconds, text):
    assert duration(seconds) == text


def module(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "reproseed.verify", *arguments],
        capture_output=True, text=True, timeout=120, cwd=cwd,
    )  # fmt: skip


def test_the_module_is_a_command(toy_command, tmp_path):
    options = ["verify", "--repeats", "2", "--arms", "full,other", "--jobs", "2", "--"]
    done = module(*options, *toy_command(), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed." in done.stdout
    assert "Page: reproseed-verify/report.html" in done.stdout
    assert (tmp_path / "reproseed-verify" / "report.json").exists()


def test_the_commands_that_are_advised_can_be_run(toy_command, tmp_path):
    options = ["verify", "--repeats", "2", "--jobs", "2", "--json", "r.json", "--"]
    done = module(*options, *toy_command("constant fall-back"), cwd=tmp_path)
    assert done.returncode == 4
    lines = done.stdout.splitlines()
    (line,) = (line.strip() for line in lines if line.strip().startswith("reproseed verify"))
    again = module(*shlex.split(line)[1:], cwd=tmp_path)
    assert again.returncode == 0, again.stdout
