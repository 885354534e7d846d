"""Kill ranks of examples/ddp_elastic.py at random moments; run by test_elastic in a process of its own.

    python kill_ranks.py FOLDER MOMENTS [--sharded]

Forks the ranks from a process that has imported everything, so that a start takes a moment. Prints what was found as
JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import itertools
import json
import multiprocessing
import os
import random
import signal
import socket
import sys
import time
from pathlib import Path

import torch
import torch._dynamo  # what the first optimizer and checkpoint import, before the forks
import torch.distributed as dist
import torch.distributed.checkpoint
import torch.distributed.fsdp

import reproseed.data  # noqa: F401 - before the forks

EXAMPLE = Path(__file__).parents[2] / "examples" / "ddp_elastic.py"
SETTINGS = {"seed": 3, "epochs": 2, "samples": 64, "batch_size": 16, "save_every": 2, "kill_at": None}
STEPS = SETTINGS["epochs"] * (SETTINGS["samples"] // SETTINGS["batch_size"])
LIMIT = 60.0  # seconds for any one run


def load_example():
    spec = importlib.util.spec_from_file_location("ddp_elastic", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["ddp_elastic"] = module  # its classes must be found by name
    spec.loader.exec_module(module)
    return module


def one_rank(example, folder, sharded, rank, world, port):
    """Be one rank, in a forked process."""
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    # What a rank writes when its peer dies is not this script's output.
    os.dup2(os.open(folder / f"errors-{rank}.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    example.train(argparse.Namespace(folder=folder, sharded=sharded, **SETTINGS))
    dist.destroy_process_group()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def ranks(example, folder, sharded, world):
    """Start so many ranks; whatever happens, none is left."""
    folder.mkdir(exist_ok=True)
    context, port = multiprocessing.get_context("fork"), free_port()
    started = [
        context.Process(target=one_rank, args=(example, folder, sharded, rank, world, port)) for rank in range(world)
    ]
    try:
        for process in started:
            process.start()
        yield started
    finally:
        for process in started:
            process.kill()
            process.join()


def finish(started):
    end = time.monotonic() + LIMIT
    for process in started:
        process.join(max(end - time.monotonic(), 0))
    assert [process.exitcode for process in started] == [0] * len(started)


def steps_done(folder):
    log = folder / "log.jsonl"
    return log.read_bytes().count(b"\n") if log.exists() else 0


def wait_for(folder, steps):
    end = time.monotonic() + LIMIT
    while steps_done(folder) < steps:
        assert time.monotonic() < end
        time.sleep(0.001)


def kill_once(example, folder, sharded, draw, pace):
    """Kill one of four ranks at a random moment after a random step; return where, and the checkpoints' names."""
    after, wait, rank = draw.randrange(STEPS - 1), draw.random() * pace, draw.randrange(4)
    with ranks(example, folder, sharded, 4) as started:
        wait_for(folder, after + 1)
        time.sleep(wait)
        os.kill(started[rank].pid, signal.SIGKILL)
        started[rank].join(LIMIT)
        killed = started[rank].exitcode == -signal.SIGKILL
    saved = example.latest(folder)
    return {"after": after, "rank": rank, "killed": killed, "saved": saved.name if saved else None}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("moments", type=int)
    parser.add_argument("--sharded", action="store_true")
    args = parser.parse_args()
    example, draw, found = load_example(), random.Random(20), []
    whole = args.folder / "whole"
    with ranks(example, whole, args.sharded, 4) as started:
        wait_for(whole, 1)
        start = time.monotonic()
        finish(started)
    pace = (time.monotonic() - start) / (STEPS - 1)
    wanted = example.read_log(whole)
    for number in itertools.count():
        if len(found) == args.moments:
            break
        folder = args.folder / f"moment-{number}"
        where = kill_once(example, folder, args.sharded, draw, pace)
        if not where["killed"]:  # the run was over before its moment came
            continue
        before = example.read_log(folder)
        with ranks(example, folder, args.sharded, 2) as started:
            finish(started)
        lines = example.read_log(folder)
        resumed = lines[len(before) :]
        found.append(
            {
                **where,
                **example.compare(wanted, lines),
                "first": [resumed[0]["epoch"], resumed[0]["step"]] if resumed else None,
                "redone": len(lines) - len(wanted),
                "seen": sorted(set(json.loads((folder / "seen.json").read_text()))),
            }
        )
    sys.stdout.write(json.dumps({"steps": len(wanted), "found": found}) + "\n")


if __name__ == "__main__":
    main()
