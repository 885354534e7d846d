"""A function left out of determinism is left out in its backward too, and gives the plain gradients."""

from __future__ import annotations

import inspect

import pytest
import torch
from torch import nn

import reproseed as rs
from reproseed.determinism import TABLE
from reproseed.errors import DecorationError

INDEX = torch.tensor([[[1, 2]]])


class Raising(torch.autograd.Function):
    """Stands for an operation whose forward and backward raise under deterministic algorithms."""

    @staticmethod
    def forward(ctx, x):
        torch.zeros(2).put_(torch.tensor([0]), torch.ones(1))
        return x * 3

    @staticmethod
    def backward(ctx, grad):
        torch.zeros(2).put_(torch.tensor([0]), torch.ones(1))
        return grad * 3


def test_forward_and_backward_run_under_the_scopes_flags():
    x = torch.randn(4, requires_grad=True)
    with rs.deterministic("error"):
        with pytest.raises(RuntimeError, match="put_ does not have"):
            Raising.apply(x)
        with rs.deterministic("off"):
            plain = Raising.apply(x).sum()
        with pytest.raises(RuntimeError, match="put_ does not have"):
            plain.backward()

        @rs.deterministic("off").covers_backward
        def function(x):
            return Raising.apply(x)

        function(x).sum().backward()
        assert torch.equal(x.grad, torch.full((4,), 3.0))
        assert TABLE["deterministic_algorithms"].read() == (True, False)


def test_an_operation_of_torch_that_raises_runs():
    x = torch.randn(1, 1, 2, requires_grad=True)

    @rs.deterministic("off").covers_backward
    def unpool(x, index):
        return nn.functional.max_unpool1d(x, index, 2)

    with rs.deterministic("error"):
        with pytest.raises(RuntimeError, match="max_unpool"):
            nn.functional.max_unpool1d(x, INDEX, 2)
        (unpool(x, index=INDEX) * torch.arange(4.0)).sum().backward()
    assert x.grad.flatten().tolist() == [1.0, 2.0]


def test_an_error_in_the_backward_puts_the_flags_back():
    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            raise ZeroDivisionError

    function = rs.deterministic("off").covers_backward(Broken.apply)
    x = torch.randn(3, requires_grad=True)
    with rs.deterministic("error"):
        out = function(x)
        with pytest.raises(ZeroDivisionError):
            out.sum().backward()
        assert TABLE["deterministic_algorithms"].read() == (True, False)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x, *, also=None, scale=1.0):
        hidden = torch.tanh(self.first(x)) + (0 if also is None else also["y"])
        return {"out": self.second(hidden) * scale, "hidden": (hidden, "text")}


def _gradients(forward, net, x, y, retain=False):
    for tensor in (x, y, *net.parameters()):
        tensor.grad = None
    result = forward(x, also={"y": y}, scale=2.0)
    loss = result["out"].square().sum() + result["hidden"][0].sum()
    assert result["hidden"][1] == "text"
    loss.backward(retain_graph=retain)
    if retain:
        loss.backward()
    return [tensor.grad.clone() for tensor in (x, y, *net.parameters())]


@pytest.mark.parametrize("retain", [False, True], ids=["once", "twice over one graph"])
def test_gradients_of_arguments_and_parameters_are_the_plain_ones(retain):
    net = Net().double()
    x, y = (torch.randn(5, n, dtype=torch.float64, requires_grad=True) for n in (3, 4))
    covered = rs.deterministic("off").covers_backward(net.forward)
    for one, other in zip(_gradients(net, net, x, y, retain), _gradients(covered, net, x, y, retain), strict=True):
        assert torch.equal(one, other)


def test_gradcheck_passes():
    function = rs.deterministic("off").covers_backward(lambda x, y: (x.sin() * y, x + y))
    x, y = (torch.randn(3, dtype=torch.float64, requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(function, (x, y))


def test_an_unused_result_and_an_argument_without_gradient():
    function = rs.deterministic("off").covers_backward(lambda x, y: (x * 2, y * 3, x.detach()))
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    first, second, third = function(x, y)
    assert (first.requires_grad, second.requires_grad, third.requires_grad) == (True, False, False)
    first.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_without_gradients_the_function_just_runs():
    function = rs.deterministic("off").covers_backward(lambda x: x * 2)
    with torch.no_grad():
        assert not function(torch.ones(2, requires_grad=True)).requires_grad
    assert not function(torch.ones(2)).requires_grad


def test_a_captured_tensor_with_a_history_is_refused():
    captured = torch.ones(2, requires_grad=True) * 2

    @rs.deterministic("off").covers_backward
    def function(x):
        return x * captured

    with pytest.raises(
        rs.DeterminismError, match=r"function uses a tensor that is no argument and has a history \(Mul"
    ):
        function(torch.ones(2, requires_grad=True))


def test_a_second_derivative_is_refused():
    function = rs.deterministic("off").covers_backward(lambda x: x**3)
    x = torch.ones(1, requires_grad=True)
    with pytest.raises(rs.DeterminismError, match="create_graph=True reached a function of covers_backward"):
        torch.autograd.grad(function(x).sum(), x, create_graph=True)


def test_name_and_signature_stay():
    def function(x, *, scale=1.0):
        """Say something."""

    covered = rs.deterministic("off").covers_backward(function)
    assert covered.__name__ == "function"
    assert covered.__doc__ == "Say something."
    assert inspect.signature(covered) == inspect.signature(function)


@pytest.mark.parametrize("bad", [Net, 3], ids=["class", "number"])
def test_what_is_no_function_is_refused(bad):
    with pytest.raises(DecorationError, match="covers_backward decorates functions and methods"):
        rs.deterministic("off").covers_backward(bad)


def test_a_generator_function_is_refused():
    def function():
        yield 1

    with pytest.raises(DecorationError, match="a function that can be suspended has no one forward"):
        rs.deterministic("off").covers_backward(function)
