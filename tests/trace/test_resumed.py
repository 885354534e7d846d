"""A run without addresses beside its resumed part: what the first did before the checkpoint is not compared."""

from __future__ import annotations

import copy
import io

import pytest
import torch
from torch.func import functional_call
from torch.utils.data import DataLoader, TensorDataset

from reproseed.trace import read, record
from reproseed.trace.comparison import compare


def run(epochs, resume=None, lost=(), evaluation="plain"):
    """Train on a shuffled loader with an evaluation after each epoch; return the losses and a checkpoint."""
    torch.manual_seed(0)
    data = torch.randn(32, 3)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    average = {name: p.detach().clone() for name, p in model.named_parameters()}
    start = 0
    if resume is not None:
        saved = torch.load(io.BytesIO(resume))
        if "weights" not in lost:
            model.load_state_dict(saved["model"])
        if "optimizer" not in lost:
            optimizer.load_state_dict(saved["optimizer"])
        average, start = saved["average"], saved["epoch"]
        torch.set_rng_state(saved["rng"])
    loader, losses = DataLoader(TensorDataset(data, data.sum(1, keepdim=True)), 8, shuffle=True), []
    for _ in range(start, epochs):
        for x, y in loader:
            loss = (model(x) - y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            average = {n: 0.9 * average[n] + 0.1 * p.detach() for n, p in model.named_parameters()}
        with torch.no_grad():
            if evaluation == "plain":
                model.eval()
                model(data)
                model.train()
            elif evaluation == "average":
                functional_call(model, average, (data,))
    file = io.BytesIO()
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "average": average}
    torch.save(copy.deepcopy(state) | {"rng": torch.get_rng_state(), "epoch": epochs}, file)
    return losses, file.getvalue()


@pytest.fixture
def traces(tmp_path):
    """Trace a whole run and a resumed one; return their losses and traces."""

    def make(evaluation, lost=()):
        _, checkpoint = run(1, evaluation=evaluation)
        found = []
        for name, resume in (("whole", None), ("resumed", checkpoint)):
            with record(tmp_path / name):
                losses, _ = run(3, resume, lost, evaluation)
            found.append((losses, read(tmp_path / name)))
        return found

    return make


@pytest.mark.parametrize("alignment", ["auto", "tail", "resumed"])
@pytest.mark.parametrize("evaluation", ["plain", "average", "none"])
def test_a_right_resume_does_not_part_whatever_was_evaluated_before(traces, evaluation, alignment):
    (whole, a), (resumed, b) = traces(evaluation=evaluation)
    assert resumed == whole[4:]
    found = compare(a, b, alignment)
    assert found.divergence is None
    assert found.compared == 9 - (evaluation == "none")


@pytest.mark.parametrize("evaluation", ["plain", "average", "none"])
def test_what_a_resume_lost_is_found_at_its_first_step(traces, evaluation):
    (_, a), (_, b) = traces(lost=("optimizer",), evaluation=evaluation)
    divergence = compare(a, b, "resumed").divergence
    assert divergence.address == {"optimizer_step": 4}
    assert (divergence.cause.name, divergence.cause.confidence) == ("OPTIMIZER_STATE", "certain")


def test_weights_that_are_lost_leave_the_end_to_count_from(traces):
    (_, a), (_, b) = traces(lost=("weights",), evaluation="none")
    divergence = compare(a, b, "resumed").divergence
    assert divergence.address == {"optimizer_step": 4}
    assert divergence.cause.name == "PARAMS_AT_START"


def test_a_loop_without_an_optimizer_is_not_called_the_same_without_a_word(tmp_path):
    for rate, name in ((0.1, "a"), (0.2, "b")):
        torch.manual_seed(0)
        weights = torch.zeros(3, requires_grad=True)
        with record(tmp_path / name):
            for x in DataLoader(torch.ones(6, 3), 2):
                (gradient,) = torch.autograd.grad((x @ weights - 1).square().mean(), weights)
                weights = (weights - rate * gradient).detach().requires_grad_()
    found = compare(read(tmp_path / "a"), read(tmp_path / "b"))
    assert found.divergence is None
    assert any("no optimizer step is in both" in note for note in found.notes)
