"""The types of the public API, as a user's checker sees them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import reproseed as rs

API = Path(__file__).parent / "typing" / "api.py"


def _mypy(path: Path, cache: Path) -> tuple[int, str]:
    """Check a file as a stranger's project would, without this project's settings."""
    package = str(Path(rs.__file__).parent.parent)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={cache}", str(path)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=280, env=os.environ | {"MYPYPATH": package}, cwd=path.parent
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_the_whole_api_is_typed_and_a_wrong_use_is_found(tmp_path):
    pytest.importorskip("mypy", reason="mypy is of the dev extra")
    code, output = _mypy(API, tmp_path / "cache")
    assert code == 0, output
    wrong = tmp_path / "wrong.py"
    wrong.write_text('import reproseed as rs\nseed: str = rs.get_master_seed()\nrs.init(devices="all")\n')
    code, output = _mypy(wrong, tmp_path / "cache")
    assert code == 1
    assert len(re.findall(r"wrong\.py:[23]: error", output)) == 2, output


def test_it_uses_every_public_name():
    text = API.read_text()
    missing = [name for name in rs.__all__ if not re.search(rf"\brs\.{name}\b", text)]
    assert not missing
