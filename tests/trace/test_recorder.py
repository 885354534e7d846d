"""The tracer sees everything and changes nothing."""

from __future__ import annotations

import os
import random
import threading

import pytest
import torch
from torch.nn.modules import module as module_hooks
from torch.optim import optimizer as optimizer_hooks
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter
from training import train

import reproseed as rs
from reproseed import stack
from reproseed.trace import TraceError, diff, read, record
from reproseed.trace.recorder import Recorder, Selection, recorded


def kinds(trace):
    return {record["t"] for place in trace.places for record in place.records}


@pytest.mark.parametrize("level", ["rng", "tensors", "ops"])
@pytest.mark.parametrize("workers", [0, 2], ids=["no workers", "two workers"])
@pytest.mark.parametrize("kind", ["cnn", "transformer"])
def test_a_traced_run_is_bit_equal_to_an_untraced_one(tmp_path, kind, workers, level):
    if workers and level != "tensors":
        pytest.skip("workers run the same code at every level")
    plain = train(kind, workers)
    with record(tmp_path / "a.jsonl.gz", level=level, check=True):
        traced = train(kind, workers)
    assert traced == plain
    assert not read(tmp_path / "a.jsonl.gz").notes


@pytest.mark.parametrize("workers", [0, 2], ids=["no workers", "two workers"])
def test_two_equal_runs_give_equal_files(tmp_path, workers):
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        with record(tmp_path / name):
            train("cnn", workers)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    assert diff(tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl.gz") is None


def test_everything_is_taken_out_again(tmp_path):
    def hooks():
        return (
            DataLoader.__init__, DataLoader.__iter__, _BaseDataLoaderIter._next_index, _BaseDataLoaderIter.__next__,
            torch.autograd.backward, torch.compile, bool(module_hooks._has_any_global_hook()),
            len(module_hooks._global_forward_hooks),
            len(module_hooks._global_forward_pre_hooks), len(optimizer_hooks._global_optimizer_pre_hooks),
            len(optimizer_hooks._global_optimizer_post_hooks), len(stack.observers),
        )  # fmt: skip

    before = hooks()

    def interrupted():
        with record(tmp_path / "a.jsonl.gz", level="ops"):
            assert [a != b for a, b in zip(hooks(), before, strict=True)] == [True] * len(before)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert hooks() == before


@pytest.mark.parametrize(
    ("level", "there", "missing"),
    [
        ("rng", {"rng", "indices", "batch", "loader"}, {"params", "loss", "output", "op"}),
        ("state", {"rng", "params", "loss", "grads", "optimizer", "hyper"}, {"op"}),
        ("tensors", {"output"}, {"op"}),
        ("ops", {"output", "op"}, set()),
    ],
)
def test_a_level_holds_what_it_promises(tmp_path, level, there, missing):
    with record(tmp_path / "a.jsonl.gz", level=level):
        train("cnn", epochs=1)
    found = kinds(read(tmp_path / "a.jsonl.gz"))
    assert there <= found
    assert not missing & found


def test_one_step_can_be_recorded_alone(tmp_path):
    with record(tmp_path / "a.jsonl.gz", at=(1, 2)):
        train("cnn")
    trace = read(tmp_path / "a.jsonl.gz")
    places = {str(p) for p in trace.places if any(r["t"] in ("params", "rng") for r in p.records)}
    assert places == {"task=train, epoch=1, step=2", "task=train, epoch=1, step=2, phase=fetch"}


def test_a_range_of_optimizer_steps_can_be_recorded(tmp_path):
    with record(tmp_path / "a.jsonl.gz", steps=(2, 4)):
        train("cnn")
    trace = read(tmp_path / "a.jsonl.gz")
    steps = [(p.address["epoch"], p.address["step"]) for p in trace.places for r in p.records if r["t"] == "optimizer"]
    assert steps == [(0, 2), (1, 0)]


def test_a_compiled_module_degrades_to_state_and_says_so(tmp_path):
    plain = train("cnn", compiled=True)
    with record(tmp_path / "a.jsonl.gz"):
        assert train("cnn", compiled=True) == plain
    trace = read(tmp_path / "a.jsonl.gz")
    assert trace.notes == ["a module was compiled: calls of modules are not recorded from here on"]
    assert {"loss", "grads", "step.params", "end.buffers"} <= kinds(trace)


def test_other_threads_are_left_alone(tmp_path):
    with record(tmp_path / "a.jsonl.gz") as files:
        thread = threading.Thread(target=lambda: torch.nn.Linear(2, 2)(torch.ones(1, 2)))
        thread.start()
        thread.join()
    assert files == []


def test_an_error_of_the_tracer_ends_the_trace_not_the_run(tmp_path, caplog):
    recorder = Recorder(tmp_path / "a.jsonl.gz")
    recorder.emit("note", "begun")
    ran = []

    @recorded
    def breaks(recorder):
        ran.append(1)
        raise RuntimeError("oops")

    breaks(recorder)
    breaks(recorder)
    recorder.stop()
    assert ran == [1]
    assert "the tracer failed and records nothing more" in caplog.text
    assert read(tmp_path / "a.jsonl.gz").notes[-1].endswith("RuntimeError: oops")


def test_a_hook_that_draws_is_caught_by_the_check(tmp_path):
    recorder = Recorder(tmp_path / "a.jsonl.gz", check=True)

    @recorded
    def draws(recorder):
        random.random()

    with pytest.raises(AssertionError, match="moved a generator"):
        draws(recorder)


def test_a_forked_child_writes_nothing_into_its_parents_file(tmp_path):
    with record(tmp_path / "a.jsonl.gz") as files:
        model = torch.nn.Linear(2, 2)
        model(torch.ones(1, 2))
        child = os.fork()
        if not child:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        model(torch.ones(1, 2))
    assert files == [tmp_path / "a.jsonl.gz"]
    inputs = [r for p in read(files[0]).places for r in p.records if r["t"] == "input"]
    assert len(inputs) == 2


def test_the_rank_becomes_part_of_the_name(tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    for name, wanted in (("a.jsonl.gz", "a.rank1.jsonl.gz"), ("b-{rank}.jsonl.gz", "b-1.jsonl.gz")):
        with record(tmp_path / name) as files:
            torch.nn.Linear(2, 2)(torch.ones(1, 2))
        assert [file.name for file in files] == [wanted]


def test_an_unknown_level_is_refused(tmp_path):
    with pytest.raises(TraceError, match="level='all': allowed are rng, state, tensors, ops"):
        Recorder(tmp_path / "a.jsonl.gz", "all")


def test_a_selection_without_epochs_counts_optimizer_steps():
    assert Selection(at=(None, 3)).holds(((), 0, 3), 3)
    assert not Selection(at=(None, 3)).holds(((), 0, 2), 2)


def test_the_trace_of_a_scope_without_steps_counts_optimizer_steps(tmp_path):
    rs.init(master_seed=1)
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with record(tmp_path / "a.jsonl.gz"), rs.seeded(task="train", epoch=0):
        for _ in range(3):
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
    ticks = [p.tick for p in read(tmp_path / "a.jsonl.gz").places]
    assert ticks == [0, 1, 2, 3]
