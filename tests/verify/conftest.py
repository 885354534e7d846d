"""Fixtures: scripts to verify, and verifications of them."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

import reproseed
from reproseed.verify.api import verify

SCRIPTS = Path(__file__).parent / "scripts"
ARGUMENTS = [
    "--epochs", "{epochs}", "[[--seed", "{seed}]]", "[[--resume", "{resume}]]",
    "--save", "{save}", "--metrics", "{metrics}",
]  # fmt: skip


@pytest.fixture(scope="session", autouse=True)
def _same_package_in_children():
    """Scripts that are run import the package that the tests import."""
    root = str(Path(reproseed.__file__).parents[1])
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [root, before]))
    yield
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


def _alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture(scope="session")
def wait_until_ended():
    """Wait for a process that is no child of this one; return whether it ended."""

    def wait(pid):
        end = time.monotonic() + 10
        while _alive(pid) and time.monotonic() < end:
            time.sleep(0.02)
        return not _alive(pid)

    return wait


@pytest.fixture(scope="session")
def scripts():
    return SCRIPTS


@pytest.fixture(scope="session")
def toy_command():
    """The command of the NumPy training, with a fault and further arguments."""

    def command(fault="", *more):
        return [sys.executable, str(SCRIPTS / "toy.py"), *ARGUMENTS, "--fault", fault, *more]

    return command


@pytest.fixture(scope="session")
def verify_toy(toy_command, tmp_path_factory):
    """Verify the NumPy training with a fault; two repeats, two runs at once, one thread."""

    def run(fault="", *more, **options):
        out = tmp_path_factory.mktemp("verify")
        options = {"repeats": 2, "jobs": 2, "threads": 1, "timeout": 60} | options
        return verify(toy_command(fault, *more), out=out, **options)

    return run


@pytest.fixture(scope="session")
def clean_report(verify_toy):
    return verify_toy()


@pytest.fixture(scope="session")
def noisy_report(verify_toy):
    return verify_toy("noise", repeats=8, level="statistical")


@pytest.fixture(scope="session")
def lost_optimizer_report(verify_toy):
    return verify_toy("optimizer")
