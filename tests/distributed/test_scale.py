"""Large runs without their machines: benchmarks/scale.py at a smaller size, and 64 ranks in threads."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import launch
import pytest

HERE = Path(__file__)


def _load(name, path):
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


scale = _load("reproseed_benchmarks_scale", HERE.parents[2] / "benchmarks" / "scale.py")


@pytest.mark.parametrize(("ranks", "epochs"), [(1, 5), (300, 7), (70_000, 3)], ids=str)
def test_no_address_repeats(ranks, epochs):
    assert scale.repeated_addresses(ranks, epochs) == 0


def test_no_stream_repeats():
    assert scale.repeated_streams(100_000, 50, 20_000) == (20_000, 0)


def test_a_seed_of_rank_plus_epoch_would_be_found_out(monkeypatch):
    monkeypatch.setattr(scale, "first_bits", lambda seeder, epochs: [seeder.place.rank + epoch for epoch in epochs])
    drawn, repeats = scale.repeated_streams(100, 10, 1_000)
    assert drawn == 1_000
    assert repeats == 1_000 - 109


def test_a_rank_of_a_hundred_thousand_holds_what_a_single_one_holds():
    one, last = (scale.cost_of_rank(world, epochs=10)["bytes"] for world in (1, 100_000))
    assert last <= 1.1 * one


THREADS = """
import json, sys, threading
import torch
import torch.distributed as dist
from torch.testing._internal.distributed.multi_threaded_pg import (
    ProcessLocalGroup, _install_threaded_pg,
)
from reproseed.ranks import agree_on, coordinates_of, find_place

world, calls, found = int(sys.argv[1]), [], {}
torch._C._distributed_c10d._set_thread_isolation_mode(True)
_install_threaded_pg()
store = dist.HashStore()
ProcessLocalGroup.reset()

for name in ("all_gather", "broadcast", "all_reduce", "barrier", "all_gather_object", "all_gather_into_tensor"):
    def counted(*args, real=getattr(dist, name), name=name, **keywords):
        calls.append(name)
        return real(*args, **keywords)
    setattr(dist, name, counted)

def rank(number, chosen):
    try:
        dist.init_process_group("threaded", rank=number, world_size=world, store=store)
        ready.wait()
        if number == 0:
            del calls[:]
        ready.wait()
        place = find_place(None, None, None, None)
        seed, drawn = agree_on(chosen, 1, place, 0)
        found[number] = [*place, seed, drawn, coordinates_of(place, None, None, None)]
        ready.wait()
    except BaseException as error:
        found[number] = repr(error)
        ProcessLocalGroup.exception_handle(error)
        raise

ready = threading.Barrier(world, timeout=60)
threads = [threading.Thread(target=rank, args=(n, None)) for n in range(world)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps({"calls": calls, "found": [found[n] for n in range(world)]}))
"""


@pytest.mark.distributed
@pytest.mark.slow
@pytest.mark.parametrize("world", [2, 64])
def test_ranks_agree_in_one_collective_each_however_many_they_are(tmp_path, world):
    """64 ranks are threads over torch's own threaded group, which it tests its collectives with."""
    script = tmp_path / "threads.py"
    script.write_text(THREADS)
    done = launch.run_killing([sys.executable, str(script), str(world)], launch.environment(), 100)
    assert done.returncode == 0, done.stdout[-4000:]
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["calls"] == ["all_gather"] * world
    assert {(size, seed, drawn) for _, size, seed, drawn, _ in result["found"]} == {
        (world, result["found"][0][2], True)
    }
    assert [one[0] for one in result["found"]] == list(range(world))
    assert [one[4] for one in result["found"]] == [{"rank": number} for number in range(world)]
