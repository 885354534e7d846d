"""The public assertions pass where they should, and fail with a sentence where they should."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
import torch
from torch import nn

import reproseed as rs


def test_draws_nothing_passes_and_names_what_moved():
    with rs.testing.assert_draws_nothing():
        torch.zeros(3)
    with (
        pytest.raises(AssertionError, match=r"^python, torch\.cpu moved in a block that must draw nothing\.$"),
        rs.testing.assert_draws_nothing(),
    ):
        random.random(), torch.rand(1)


def test_draws_nothing_sees_registered_generators():
    rs.init(master_seed=1)
    generator = np.random.default_rng(1)
    rs.register_generator(generator, name="crop")
    with pytest.raises(AssertionError, match=r"^crop moved"), rs.testing.assert_draws_nothing():
        generator.random()


def test_no_trace_passes_for_what_is_put_back():
    with (
        rs.testing.assert_leaves_no_trace(),
        rs.seeded(master_seed=1, restore=True),
        rs.deterministic(threads=1, tf32=False),
    ):
        torch.rand(1), np.random.rand(), random.random()


LEFT = {
    "torch.cpu moved": (lambda: torch.rand(1), lambda: None),
    "num_threads was": (
        lambda: torch.set_num_threads(torch.get_num_threads() + 1),
        lambda: torch.set_num_threads(torch.get_num_threads() - 1),
    ),
    "the default dtype was torch.float32 and is torch.float64": (
        lambda: torch.set_default_dtype(torch.float64),
        lambda: torch.set_default_dtype(torch.float32),
    ),
    "grad mode was True and is False": (
        lambda: torch.autograd.set_grad_enabled(False),
        lambda: torch.autograd.set_grad_enabled(True),
    ),
    "the variable REPROSEED_TRIAL was None and is '1'": (
        lambda: os.environ.update(REPROSEED_TRIAL="1"),
        lambda: os.environ.pop("REPROSEED_TRIAL"),
    ),
    "cudnn.benchmark was False and is True": (
        lambda: setattr(torch.backends.cudnn, "benchmark", True),
        lambda: setattr(torch.backends.cudnn, "benchmark", False),
    ),
    "the run was None and is Seeder": (lambda: rs.init(master_seed=1), lambda: None),
}


@pytest.mark.parametrize("sentence", LEFT)
def test_no_trace_names_what_was_left(sentence):
    leave, undo = LEFT[sentence]
    with pytest.raises(AssertionError, match=sentence), rs.testing.assert_leaves_no_trace():
        leave()
    undo()


def test_no_trace_holds_in_exceptions_too():
    with pytest.raises(ZeroDivisionError), rs.testing.assert_leaves_no_trace():
        _ = 1 / 0
    with pytest.raises(AssertionError, match=r"torch\.cpu moved") as caught, rs.testing.assert_leaves_no_trace():
        _ = 1 / (torch.rand(1).numel() - 1)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def _training(*, forget=()):
    """A small training with dropout; what is named in forget is left out of its checkpoints."""

    def train(saved):
        rs.init(master_seed=3, resume=saved and saved["rng"])
        model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
        momentum = [torch.zeros_like(p) for p in model.parameters()]
        if saved:
            model.load_state_dict(saved["model"])
            if "momentum" not in forget:
                momentum = saved["momentum"]
        data = torch.utils.data.DataLoader(torch.arange(48.0).view(12, 4), batch_size=4, shuffle=True)
        for epoch in rs.epochs(2):
            with rs.seeded(task="train", epoch=epoch):
                for _, batch in rs.steps(data):
                    loss = (model(batch + np.random.rand()) * random.random()).square().mean()
                    gradients = torch.autograd.grad(loss, list(model.parameters()))
                    with torch.no_grad():
                        for weight, gradient, speed in zip(model.parameters(), gradients, momentum, strict=True):
                            weight -= 0.001 * speed.mul_(0.9).add_(gradient)
                    state = {"rng": rs.state_dict(), "model": model.state_dict(), "momentum": momentum}
                    yield state, {"loss": loss.item(), "weights": [p.detach() for p in model.parameters()]}

    return train


def test_a_training_that_resumes_exactly_passes_and_the_caller_is_untouched():
    rs.init(master_seed=9)
    with rs.seeded(task="outer"), rs.testing.assert_leaves_no_trace():
        rs.testing.assert_resumes_exactly(_training(), every=2)


def test_a_training_that_forgets_its_momentum_fails_with_the_place():
    sentence = r"resumed after step 0 of 6, step \d differs: value\['(loss|weights)'\]"
    with pytest.raises(AssertionError, match=sentence):
        rs.testing.assert_resumes_exactly(_training(forget=("momentum",)))


def test_a_loop_that_yields_too_much_or_nothing_fails():
    def longer(saved):
        for i in range(3):
            yield {}, i

    with pytest.raises(AssertionError, match="resumed after step 0 of 3, step 1 differs: value is 0, not 1"):
        rs.testing.assert_resumes_exactly(longer)

    def same(saved):
        for _ in range(3):
            yield {}, 0

    with pytest.raises(AssertionError, match="resumed after step 0 of 3, 3 steps followed; 2 are expected"):
        rs.testing.assert_resumes_exactly(same)
    with pytest.raises(AssertionError, match="yielded nothing"):
        rs.testing.assert_resumes_exactly(lambda saved: [])


NAN = float("nan")


@pytest.mark.parametrize(
    ("one", "other", "sentence"),
    [
        (0.0, -0.0, "value is -0.0, not 0.0"),
        (torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.5]), "differs first at element 1: 2.5 instead of 2.0"),
        (torch.ones(2), torch.ones(2).double(), "value is torch.float64"),
        ({"a": 1}, {"b": 1}, r"value has the keys \['b'\], not \['a'\]"),
        ([1], [1, 2], "value has 2 items, not 1"),
        (1, "1", "value is a str, not a int"),
    ],
)
def test_values_are_compared_by_their_bits(one, other, sentence):
    def train(saved):
        if saved is None:
            yield {"at": 0}, 0
        yield {"at": 1}, one if saved is None else other

    with pytest.raises(AssertionError, match=sentence):
        rs.testing.assert_resumes_exactly(train, every=2)


def test_nan_equals_itself():
    def train(saved):
        if saved is None:
            yield {}, 0
        yield {}, {"a": [NAN, torch.tensor([NAN]), torch.zeros(0), None]}

    rs.testing.assert_resumes_exactly(train, every=2)
