"""Tests of a model: each starts from its own seed."""

import random
import unittest

import numpy as np
import torch


class TestModel(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        random.seed(0)
        np.random.seed(0)

    def test_forward(self):
        torch.manual_seed(1)
        self.assertEqual(torch.nn.Linear(3, 2)(torch.randn(5, 3)).shape, (5, 2))


def test_dropout_is_random():
    torch.manual_seed(0)
    assert not torch.equal(torch.rand(3), torch.rand(3))
