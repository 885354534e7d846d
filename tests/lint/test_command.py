import io
import json
import pathlib
import subprocess
import sys

import pytest

from reproseed.lint import engine, main, run_lint

BAD = "import random\nrandom.seed()\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "good.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_clean_is_0_and_silent(project, capsys):
    assert run_lint(["good.py"]) == 0
    assert capsys.readouterr() == ("", "")


def test_findings_are_1_and_reported(project, capsys):
    assert run_lint(["."]) == 1
    assert capsys.readouterr().out == (
        "bad.py:2:1: RS106 E A generator is seeded from the operating system's entropy. "
        "[random.seed()]\n1 finding in 1 file. "
        "--explain RS106 says why, and what to write instead.\n"
    )


def test_wrong_use_is_2_and_explained(project, capsys):
    assert run_lint(["nothing.py"]) == 2
    assert run_lint(["."], form="xml") == 2
    assert run_lint(["."], select=["E501"]) == 2
    assert capsys.readouterr().err == (
        "reproseed lint: cannot lint 'nothing.py': no such file or folder; check the path.\n"
        "reproseed lint: format is 'xml'; it must be one of text, json, sarif, github.\n"
        "reproseed lint: 'E501' is no rule and no prefix of one; rules are RS101 to RS702.\n"
    )


def test_a_fault_of_the_linter_is_3_and_explained(project, capsys, monkeypatch):
    def crash(module, project):
        raise ZeroDivisionError("a rule is wrong")

    import dataclasses

    rules = tuple(dataclasses.replace(r, check=crash) for r in engine.all_rules())
    monkeypatch.setattr(engine, "all_rules", lambda: rules)
    assert run_lint(["."]) == 3
    assert "rule RS101 failed on bad.py with ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["json", "sarif"])
def test_other_forms_go_to_the_stream(project, form):
    stream = io.StringIO()
    assert run_lint(["bad.py"], form=form, output=stream) == 1
    assert json.loads(stream.getvalue())


@pytest.mark.parametrize("rule", ["RS101", "rs702"])
def test_explain_prints_the_whole_message(rule, capsys):
    assert main(["--explain", rule]) == 0
    out = capsys.readouterr().out
    assert out.startswith(rule.upper())
    assert "Found in:" in out
    assert "Not in:" in out


def test_list_rules_prints_all(capsys):
    assert main(["--list-rules"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(engine.all_rules())


@pytest.mark.parametrize("arguments", [[], ["--explain", "RS000"], ["--level", "X", "."]])
def test_wrong_arguments_end_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["bad.py"], 1),
        (["good.py"], 0),
        ([".", "--exclude", "bad.py"], 0),
        (["bad.py", "--select", "RS2,RS3"], 0),
        (["bad.py", "--ignore", "RS106", "--format", "github"], 0),
        (["none.py"], 2),
    ],
)
def test_the_module_runs_without_extras(project, arguments, code):
    done = subprocess.run(
        [sys.executable, "-m", "reproseed.lint", *arguments],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stderr


def test_the_pre_commit_hook_runs_the_command(project):
    text = (pathlib.Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text()
    lines = [line.strip("- ") for line in text.splitlines() if "#" not in line]
    fields = dict(line.split(": ", 1) for line in lines)
    assert fields["pass_filenames"] == "false"
    command = [*fields["entry"].split(), *json.loads(fields["args"])]
    assert command[0] == "python"
    done = subprocess.run([sys.executable, *command[1:]], capture_output=True, timeout=60, check=False)
    assert done.returncode == 1
