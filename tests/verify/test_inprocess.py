import random

import numpy as np
import pytest
import torch

from reproseed.verify import assert_reproducible
from reproseed.verify.errors import NotReproducibleError, UsageError


def train(seed, noise=None):
    generator = torch.Generator().manual_seed(seed)
    weights = torch.randn(3, generator=generator)
    losses = []
    for _ in range(5):
        batch = torch.randn(8, 3, generator=generator)
        if noise is not None:
            batch = batch + noise.gauss(0, 1e-3)
        loss = (batch @ weights).square().mean()
        losses.append(loss)
        weights = weights - 0.1 * weights
    return {"losses": losses, "weights": weights}


def test_a_loop_that_follows_its_seed_passes():
    assert_reproducible(train)
    assert_reproducible(lambda seed: np.random.default_rng(seed).normal(size=3), repeats=3)


def test_what_differs_first_is_named_with_both_values():
    noise = random.Random(0)
    message = r"call 1 and call 2 with seed 42 differ in 'losses/0': [\d.]+ and [\d.]+ \(\d+ ULP\)"
    with pytest.raises(NotReproducibleError, match=message):
        assert_reproducible(lambda seed: train(seed, noise))


def test_it_is_an_assertion_error_for_test_runners():
    with pytest.raises(AssertionError):
        assert_reproducible(lambda seed: random.SystemRandom().random())


def test_state_that_a_call_leaves_behind_shows():
    model = torch.nn.Linear(2, 1)

    def continues(seed):
        with torch.no_grad():
            model.weight.add_(seed)
        return model

    with pytest.raises(NotReproducibleError, match="differ in 'result/weight'"):
        assert_reproducible(continues)


def test_a_seed_without_effect_is_an_error_unless_expected():
    with pytest.raises(NotReproducibleError, match=r"seeds 42 and \d+ give equal results"):
        assert_reproducible(lambda seed: 1.5)
    assert_reproducible(lambda seed: 1.5, seed_matters=False)


def test_one_call_is_no_comparison():
    with pytest.raises(UsageError, match="repeats is 1; it takes at least 2 calls"):
        assert_reproducible(train, repeats=1)
