import json
import pathlib

import numpy as np
import pytest
import torch

from reproseed.verify import final_state
from reproseed.verify.states import read_final_state


@pytest.fixture
def reported(tmp_path):
    return tmp_path / "final_state.json"


def test_the_reported_state_goes_before_the_checkpoint(tmp_path, reported, monkeypatch):
    monkeypatch.setenv("REPROSEED_FINAL_STATE", str(reported))
    monkeypatch.delenv("RANK", raising=False)
    final_state(w=torch.ones(2), lr=0.1)
    torch.save({"other": torch.zeros(3)}, tmp_path / "c.pt")
    state = read_final_state(reported, tmp_path / "c.pt")
    assert (state.source, set(state.entries)) == ("final_state", {"w", "lr"})
    assert state.environment["torch"] == str(torch.__version__)


def test_every_rank_keeps_its_entries_apart(tmp_path, reported, monkeypatch):
    monkeypatch.setenv("REPROSEED_FINAL_STATE", str(reported))
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        final_state(w=int(rank))
    assert set(read_final_state(reported, tmp_path / "none").entries) == {"w", "rank1:w"}


def test_tensors_of_a_checkpoint_count_and_plain_values_do_not(tmp_path, reported):
    content = {"model": {"w": torch.ones(2)}, "args": {"out": "/somewhere"}, "seconds": 1.5}
    torch.save(content, tmp_path / "c.pt")
    state = read_final_state(reported, tmp_path / "c.pt")
    assert (state.source, set(state.entries)) == ("checkpoint", {"model/w"})


def test_the_name_of_the_archive_does_not_matter(tmp_path, reported):
    for name in ("a.pt", "b.pt"):
        torch.save({"w": torch.ones(2)}, tmp_path / name)
    assert (tmp_path / "a.pt").read_bytes() != (tmp_path / "b.pt").read_bytes()
    a, b = (read_final_state(reported, tmp_path / name) for name in ("a.pt", "b.pt"))
    assert a == b


@pytest.mark.parametrize("form", ["npz", "npy"])
def test_numpy_files_are_checkpoints_too(tmp_path, reported, form):
    with open(tmp_path / "checkpoint", "wb") as file:
        if form == "npz":
            np.savez(file, w=np.ones(3))
        else:
            np.save(file, np.ones(3))
    state = read_final_state(reported, tmp_path / "checkpoint")
    assert set(state.entries) == ({"w"} if form == "npz" else {"tensor"})


def test_a_folder_is_read_file_by_file(tmp_path, reported):
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    torch.save(torch.ones(1), folder / "model.pt")
    torch.save({"w": torch.ones(1)}, folder / "optimizer.pt")
    (folder / "notes.txt").write_text("x")
    assert set(read_final_state(reported, folder).entries) == {"model.pt:tensor", "optimizer.pt:w"}


class Foreign:
    def __reduce__(self):
        return (print, ("code of a checkpoint must not run",))


@pytest.mark.parametrize(
    ("write", "problem"),
    [
        (lambda p: torch.save({"x": Foreign()}, p), "could not be read without running code of it"),
        (lambda p: p.write_bytes(b"half a file"), "could not be read"),
        (lambda p: torch.save({"step": 3}, p), "holds no tensors"),
        (lambda p: None, "neither called final_state nor wrote {save}"),
    ],
    ids=["foreign class", "damaged", "no tensors", "missing"],
)
def test_a_checkpoint_that_tells_nothing_says_why(tmp_path, reported, capfd, write, problem):
    write(tmp_path / "c.pt")
    state = read_final_state(reported, tmp_path / "c.pt")
    assert state.entries == {}
    assert problem in state.problem
    assert "must not run" not in capfd.readouterr().out


def test_another_format_is_refused(tmp_path, reported):
    reported.write_text(json.dumps({"format": "reproseed.final_state/9", "entries": {}}))
    assert "'reproseed.final_state/9'; expected" in read_final_state(reported, tmp_path).problem


def test_a_foreign_error_is_told_without_colours_and_cut_at_a_word(tmp_path):
    torch.save({"x": pathlib.PurePosixPath("a")}, tmp_path / "checkpoint")  # which plain loading refuses
    problem = read_final_state(tmp_path / "final_state.json", tmp_path / "checkpoint").problem
    assert problem.startswith("the checkpoint {save} could not be read without running code of it (UnpicklingError: ")
    assert problem.endswith("; save state dicts, or call final_state")
    assert "\x1b" not in problem
    assert len(problem) < 320
