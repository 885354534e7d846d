import ast
import subprocess
import sys

import pytest

from reproseed.lint.flake8 import Flake8Plugin


def run(text, name="train.py"):
    plugin = Flake8Plugin(ast.parse(text), name, text.splitlines(keepends=True))
    return list(plugin.run())


def test_findings_have_flake8s_form():
    assert run("import random\nif True:\n    random.seed()\n") == [
        (
            3,
            4,
            "RS106 A generator is seeded from the operating system's entropy. [random.seed()]",
            Flake8Plugin,
        )
    ]


def test_comments_silence():
    assert run("import random\nrandom.seed()  # reproseed: ignore\n") == []


def test_rules_that_need_the_whole_project_stay_silent():
    text = (
        "from torch.utils.data import DistributedSampler\nsampler = DistributedSampler(data)\n"
        "import numpy as np\nrng = np.random.default_rng()\n"
    )
    assert run(text) == []


def test_flake8_itself_finds_the_plugin(tmp_path):
    pytest.importorskip("flake8", reason="flake8 is not installed")
    (tmp_path / "a.py").write_text("import random\n\nrandom.seed()\n")
    (tmp_path / ".flake8").write_text(
        "[flake8]\nselect = RS\n[flake8:local-plugins]\nextension =\n    RS = reproseed.lint.flake8:Flake8Plugin\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "flake8", "a.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.startswith("./a.py:3:1: RS106 ") or done.stdout.startswith("a.py:3:1: RS106 ")
