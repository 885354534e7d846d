"""The command line: what it says, its exit codes, and the console script itself."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.testing import CliRunner

import reproseed
from reproseed.app import app


def test_the_version_is_the_packages():
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output.strip() == reproseed.__version__


def test_the_package_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "reproseed", "--version"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, reproseed.__version__, "")


def test_without_a_command_it_prints_its_help():
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 0
    assert "lint" in result.output


@pytest.mark.parametrize(
    ("text", "code"),
    [("import torch\n", 0), ("import time, torch\ntorch.manual_seed(int(time.time()))\n", 1)],
    ids=["clean", "finding"],
)
def test_lint_exits_with_1_if_it_finds_something(tmp_path, text, code):
    path = tmp_path / "train.py"
    path.write_text(text)
    assert CliRunner().invoke(app, ["lint", str(path)]).exit_code == code


def test_lint_explains_a_rule():
    result = CliRunner().invoke(app, ["lint", "--explain", "RS105"])
    assert result.exit_code == 0
    assert "RS105" in result.output


def test_the_console_script_runs_in_a_process_of_its_own():
    done = subprocess.run(
        [sys.executable, "-m", "reproseed.cli", "--version"], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == reproseed.__version__


def test_without_its_extra_it_says_what_to_install():
    code = (
        "import sys, importlib.util as u\n"
        "real = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'typer' else real(name, *a)\n"
        "from reproseed.cli import main\nmain()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr == "reproseed's command line needs typer: pip install 'reproseed[cli]'\n"
