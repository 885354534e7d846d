"""One trace a rank, on real ranks, and the ranks of one run compared with each other."""

from __future__ import annotations

import subprocess
import sys

import pytest
from launch import environment, run_killing

from reproseed.trace import read
from reproseed.trace.comparison import compare

pytestmark = [pytest.mark.slow, pytest.mark.distributed]

SCRIPT = """
import sys
import torch, torch.distributed as dist

def train(rank, fault):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(4):
        torch.manual_seed(step * 10 + rank)  # data and noise of a rank are its own
        here = rank == 1 and step == 2
        if here and fault == "weights":
            model[2].weight.data.add_(1e-3)
        x = torch.randn(8, 4)
        optimizer.zero_grad()
        model(x).square().mean().backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        if here and fault == "rate":
            optimizer.param_groups[0]["lr"] *= 2
        if here and fault == "clipped":
            model[0].weight.grad.mul_(0.5)
        if here and fault == "state":
            optimizer.state[model[2].bias]["momentum_buffer"].zero_()
        optimizer.step()

dist.init_process_group("gloo")
train(dist.get_rank(), sys.argv[1])
dist.barrier()
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """Trace the script with a fault on two ranks; return both traces."""

    def run(fault):
        folder = tmp_path_factory.mktemp("ranks")
        (folder / "script.py").write_text(SCRIPT)
        ranks = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--rdzv-backend=c10d"]
        ranks += ["--rdzv-endpoint=127.0.0.1:0", "--local-addr=127.0.0.1", str(folder / "script.py"), fault]
        command = [sys.executable, "-m", "reproseed.trace", "trace", "-o", str(folder / "t.jsonl.gz"), "--", *ranks]
        done: subprocess.CompletedProcess[str] = run_killing(command, environment())
        assert done.returncode == 0, done.stdout[-4000:]
        files = [folder / f"t.rank{rank}.jsonl.gz" for rank in range(2)]
        assert sorted(folder.glob("*.gz")) == files
        return tuple(read(file) for file in files)

    return run


def test_each_rank_writes_a_trace_and_ranks_that_agree_do_not_part(traced):
    first, second = traced("nothing")
    assert (first.header["rank"], second.header["rank"]) == (0, 1)
    found = compare(first, second)
    assert found.divergence is None
    assert found.compared == 4
    assert found.notes[0].startswith("ranks 0 and 1 of one run")


@pytest.mark.parametrize(
    ("fault", "cause"),
    [("rate", "HYPERPARAMS"), ("clipped", "GRAD_EDIT"), ("state", "OPTIMIZER_STATE"), ("weights", "PARAMS_EDITED")],
    ids=["learning rate", "gradients", "optimizer state", "weights"],
)
def test_what_one_rank_does_alone_is_placed_and_named(traced, fault, cause):
    divergence = compare(*traced(fault)).divergence
    assert divergence is not None
    assert divergence.address == {"optimizer_step": 2}
    assert divergence.causes[0].name == cause, divergence.causes
