"""Section B of the cases: side work that ate the training stream."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import reproseed as rs


@pytest.fixture
def run():
    return rs.init(master_seed=10)


def draws() -> tuple[float, ...]:
    return random.random(), float(np.random.random()), float(torch.rand(()))


def _train(side, restore=None):
    """Two epochs over a shuffled loader, with side work after every other batch; return all that was seen."""
    loader = DataLoader(range(12), batch_size=3, shuffle=True)
    seen = []
    for epoch in range(2):
        with rs.seeded(task="train", epoch=epoch, restore=restore):
            for step, batch in enumerate(loader):
                seen.append((batch.tolist(), draws()))
                if step % 2:
                    side(epoch)
        seen.append(draws())
    return seen, rs.snapshot()


def _validate(epoch):
    with rs.seeded(task="val", epoch=epoch):
        for _ in DataLoader(range(4)):
            draws()


@rs.seeded(task="val", restore=True)
def _look_at_one_batch(epoch):
    return next(iter(DataLoader(range(4), shuffle=True)))


@rs.seeded(task="val", epoch=rs.arg("epoch"))
def _validate_by_decorator(epoch):
    for _ in DataLoader(range(4), shuffle=True):
        draws()


@pytest.mark.parametrize("side", [_validate, _look_at_one_batch, _validate_by_decorator])
def test_case_10_validation_in_a_scope_leaves_training_order_and_state_bit_equal(run, side):
    with_side = _train(side)
    rs.init(master_seed=10)
    without, state = _train(lambda epoch: None)
    assert with_side[0] == without
    assert with_side[1] == state


def test_case_10_without_a_scope_validation_changes_training(run):
    plain, _ = _train(lambda epoch: [draws() for _ in DataLoader(range(4))])
    rs.init(master_seed=10)
    assert plain != _train(lambda epoch: None)[0]


def test_case_10_validation_between_the_epochs_changes_nothing_either(run):
    def train(validate):
        seen = []
        for epoch in range(3):
            with rs.seeded(task="train", epoch=epoch):
                seen += [batch.tolist() for batch in DataLoader(range(12), batch_size=3, shuffle=True)]
            if validate:
                with rs.seeded(task="val", epoch=epoch, restore=True):
                    draws()
            seen.append(draws())
        return seen

    assert train(True) == train(False)


@pytest.mark.parametrize("form", ["scope", "decorator", "at"])
def test_case_12_previews_do_not_touch_the_training_noise_and_are_comparable(run, form):
    pictures = []

    @rs.seeded(task="preview")
    def decorated():
        pictures.append(draws())

    def preview():
        if form == "decorator":
            decorated()
        elif form == "at":
            with rs.current().at(preview=0):
                pictures.append(draws())
        else:
            with rs.seeded(task="preview"):
                pictures.append(draws())

    def train(every):
        noise = []
        with rs.seeded(task="train", epoch=0):
            for step in range(12):
                noise.append(draws())
                if every and step % every == 0:
                    preview()
        return noise

    never = train(0)
    assert train(1) == train(3) == never
    assert len(set(never)) == 12
    assert len(pictures) == 16
    assert len(set(pictures)) == 1


def test_case_12_a_global_seed_makes_the_noise_periodic():
    noise = []
    with rs.preserved():
        for step in range(9):
            noise.append(float(torch.rand(())))
            if step % 3 == 0:
                torch.manual_seed(0)
    assert len(set(noise)) < 9


def _model(layers):
    with rs.seeded(task="init"):
        modules = [torch.nn.Linear(4, 4) for _ in range(layers)]
    return torch.cat([p.flatten() for module in modules for p in module.parameters()])


def _order():
    with rs.seeded(task="data", epoch=0):
        return [batch.tolist() for batch in DataLoader(range(12), batch_size=3, shuffle=True)]


def test_case_13_another_model_leaves_the_data_order_as_it_is(run):
    orders = []
    for layers in (1, 3):
        rs.init(master_seed=10)
        _model(layers)
        orders.append(_order())
        with rs.seeded(task="train", epoch=0):
            orders[-1].append(torch.nn.functional.dropout(torch.ones(32)).tolist())
    assert orders[0] == orders[1]


def test_case_13_other_preparation_leaves_the_weights_as_they_are(run):
    weights = []
    for extra in (0, 64):
        rs.init(master_seed=10)
        for _ in range(extra):
            draws()
        weights.append(_model(2))
    assert torch.equal(*weights)


def test_case_13_the_initial_weights_alone_can_be_varied():
    weights, orders = [], []
    for seed in (1, 2):
        rs.init(master_seed=10, task_seeds={"init": seed})
        weights.append(_model(1))
        orders.append(_order())
    assert not torch.equal(*weights)
    assert orders[0] == orders[1]
