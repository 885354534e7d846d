"""Start real ranks: gloo over loopback under torchrun, with a time-out, and nothing left running."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

TIMEOUT = 120.0  # seconds

_HEAD = """
import json, os, pathlib, random, sys
import numpy as np, torch, torch.distributed as dist
import reproseed as rs
RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
OUT = pathlib.Path({out!r})

def report(**values):
    (OUT / f"rank-{{RANK}}.json").write_text(json.dumps(values))

def start_group():
    dist.init_process_group("gloo")

def draws():
    return [random.random(), float(np.random.rand()), float(torch.rand(()))]
"""

_TAIL = """
if dist.is_initialized():
    dist.barrier()
    dist.destroy_process_group()
"""


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a child: loopback only, few threads, the package that the tests see."""
    import reproseed

    package = str(Path(reproseed.__file__).parent.parent)
    env = {name: value for name, value in os.environ.items() if not name.startswith("REPROSEED_")}
    paths = [package, *filter(None, env.get("PYTHONPATH", "").split(os.pathsep))]
    return env | {
        "GLOO_SOCKET_IFNAME": "lo",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
        **more,
    }


def run_killing(command: list[str], env: dict[str, str], timeout: float = TIMEOUT) -> subprocess.CompletedProcess[str]:
    """Run a command in a process group of its own, and end whatever is left of the group."""
    process = subprocess.Popen(
        command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        raise AssertionError(f"no end after {timeout} s; output:\n{output[-4000:]}") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return subprocess.CompletedProcess(command, process.returncode, output)


def torchrun(
    script: Path, ranks: int, *arguments: str, timeout: float = TIMEOUT, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run a script file on so many ranks of this machine, on a free port."""
    command = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}", "--nnodes=1"]
    command += ["--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0", "--local-addr=127.0.0.1", str(script), *arguments]
    return run_killing(command, environment(**env), timeout)


def on_ranks(tmp_path: Path, ranks: int, body: str, *, fails: bool = False, **env: str) -> list[dict[str, Any]]:
    """Run the body of a script on real ranks; return what each rank gave to ``report(...)``, in order.

    Args:
        tmp_path: a folder of the test's own.
        ranks: number of processes.
        body: Python code, indented as one likes; it knows RANK, WORLD, rs, torch, dist, np, random, draws, start_group.
        fails: whether the ranks are expected to end with an error.
        **env: further environment variables.
    """
    out = tmp_path / "out"
    out.mkdir(exist_ok=True)
    for old in out.iterdir():
        old.unlink()
    script = tmp_path / "script.py"
    script.write_text(_HEAD.format(out=str(out)) + textwrap.dedent(body) + _TAIL)
    done = torchrun(script, ranks, **env)
    assert (done.returncode != 0) is fails, done.stdout[-6000:]
    files = [out / f"rank-{rank}.json" for rank in range(ranks)]
    assert all(file.exists() for file in files), done.stdout[-6000:]
    return [json.loads(file.read_text()) for file in files]
