import os
import subprocess
import sys
import threading
import time

import pytest

from reproseed.verify.process import Processes

TREE = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {child!r}])
print(child.pid, flush=True)
time.sleep(600)
"""


def run(processes, tmp_path, code, timeout=30, **env):
    return processes.run(
        [sys.executable, "-c", code],
        directory=tmp_path,
        environment=os.environ | env,
        output=tmp_path / "output.log",
        timeout=timeout,
    )


@pytest.mark.parametrize("rc", [0, 3])
def test_a_process_ends_with_its_own_code_and_both_outputs(tmp_path, rc):
    code = f"import os, sys; print(os.environ['X'], os.getcwd()); sys.exit({rc})"
    outcome = run(Processes(), tmp_path, code, X="set")
    assert (outcome.rc, outcome.timed_out, outcome.problem) == (rc, False, "")
    assert (tmp_path / "output.log").read_text() == f"set {tmp_path}\n"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks for processes in /proc")
@pytest.mark.parametrize(
    "child",
    [
        "import time; time.sleep(600)",
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)",
    ],
    ids=["obedient child", "child that ignores the request"],
)
def test_a_hanging_process_is_killed_with_its_children(tmp_path, child, wait_until_ended):
    outcome = run(Processes(), tmp_path, TREE.format(child=child), timeout=1.5)
    assert (outcome.rc, outcome.timed_out) == (None, True)
    assert outcome.seconds < 10
    assert wait_until_ended(int((tmp_path / "output.log").read_text()))


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks for processes in /proc")
def test_stopping_ends_what_lives_and_starts_no_more(tmp_path, wait_until_ended):
    processes = Processes()
    code = TREE.format(child="import time; time.sleep(600)")
    thread = threading.Thread(target=run, args=(processes, tmp_path, code))
    thread.start()
    end = time.monotonic() + 10
    output = tmp_path / "output.log"
    while not (output.exists() and output.read_text().strip()) and time.monotonic() < end:
        time.sleep(0.02)
    processes.stop()
    thread.join(10)
    assert not thread.is_alive()
    assert wait_until_ended(int(output.read_text()))
    assert "stopped before" in run(processes, tmp_path, "pass").problem


def test_a_program_that_is_not_there_is_a_problem_and_no_exception(tmp_path):
    outcome = Processes().run(["no-such-program"], directory=tmp_path, environment={}, output=tmp_path / "o", timeout=5)
    assert outcome.rc is None
    assert outcome.problem == "'no-such-program' could not be started: No such file or directory"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks for processes in /proc")
def test_an_interrupt_leaves_no_process(tmp_path, toy_command, wait_until_ended):
    """Ctrl-C in the terminal reaches the parent alone, since runs have groups of their own."""
    code = (
        # A shell that runs the tests in the background has made its children deaf to Ctrl-C.
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from reproseed.verify.api import verify\n"
        f"verify({toy_command('hangs')!r}, out={str(tmp_path / 'out')!r}, repeats=2)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    log = tmp_path / "out" / "resume-0" / "output.log"
    end = time.monotonic() + 30
    while not (log.exists() and "child" in log.read_text()) and time.monotonic() < end:
        time.sleep(0.05)
    parent.send_signal(2)
    try:
        assert parent.wait(120) != 0
    finally:
        parent.kill()
        parent.wait()
    assert wait_until_ended(int(log.read_text().split()[1]))
