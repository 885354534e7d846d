"""The list of operations is torch's own, and each replacement is the plain operation, repeatably."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.nn import functional

import reproseed as rs
from reproseed.determinism import explain, operations, replacements
from reproseed.determinism.operations import parse


def _float64(*shape):
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


def _indices(high, *shape):
    return torch.randint(high, shape)


# name: (plain, ours, arguments that have gradients)
CASES = {
    "index_add": (
        lambda x, s: torch.index_add(x, 1, torch.tensor([0, 2, 2, 1, 2]), s, alpha=1.5),
        lambda x, s: replacements.index_add(x, 1, torch.tensor([0, 2, 2, 1, 2]), s, alpha=1.5, everywhere=True),
        lambda: (_float64(2, 3, 4), _float64(2, 5, 4)),
    ),
    "index_select": (
        lambda x: torch.index_select(x, -1, torch.tensor([3, 0, 3, 3])),
        lambda x: replacements.index_select(x, -1, torch.tensor([3, 0, 3, 3]), everywhere=True),
        lambda: (_float64(2, 3, 4),),
    ),
    "gather": (
        lambda x: torch.gather(x, 1, torch.tensor([[0, 0, 2], [1, 1, 1]])),
        lambda x: replacements.gather(x, 1, torch.tensor([[0, 0, 2], [1, 1, 1]]), everywhere=True),
        lambda: (_float64(3, 3),),
    ),
    "gather, last dimension by number": (
        lambda x: torch.gather(x, -1, torch.tensor([[[0, 0]], [[2, 1]]])),
        lambda x: replacements.gather(x, -1, torch.tensor([[[0, 0]], [[2, 1]]]), everywhere=True),
        lambda: (_float64(2, 2, 3),),
    ),
    "scatter_add": (
        lambda x, s: torch.scatter_add(x, 0, torch.tensor([[0, 1, 2], [2, 1, 2]]), s),
        lambda x, s: replacements.scatter_add(x, 0, torch.tensor([[0, 1, 2], [2, 1, 2]]), s, everywhere=True),
        lambda: (_float64(3, 4), _float64(2, 3)),
    ),
    "cumsum": (
        lambda x: torch.cumsum(x, 1),
        lambda x: replacements.cumsum(x, 1, everywhere=True),
        lambda: (_float64(2, 11, 3),),
    ),
    "cumsum over blocks": (
        lambda x: torch.cumsum(x, 0),
        lambda x: replacements.cumsum(x, 0, everywhere=True),
        lambda: (_float64(300, 2),),
    ),
    "cumsum over whole blocks": (
        lambda x: torch.cumsum(x, -1),
        lambda x: replacements.cumsum(x, -1, everywhere=True),
        lambda: (_float64(2, 32),),
    ),
    "cumsum of none": (
        lambda x: torch.cumsum(x, 0),
        lambda x: replacements.cumsum(x, 0, everywhere=True),
        lambda: (_float64(0, 2),),
    ),
    "cumsum of one": (
        lambda x: torch.cumsum(x, 0),
        lambda x: replacements.cumsum(x, 0, everywhere=True),
        lambda: (_float64(1, 2),),
    ),
}
for _how in ({"size": (7, 3)}, {"size": (1, 1)}, {"scale_factor": 2.0}, {"scale_factor": 1.7}, {"scale_factor": 0.6}):
    for _align in (False, True):
        CASES[f"upsample_bilinear {_how} {_align}"] = (
            lambda x, how=_how, align=_align: functional.interpolate(x, mode="bilinear", align_corners=align, **how),
            lambda x, how=_how, align=_align: replacements.upsample_bilinear(
                x, align_corners=align, **how, everywhere=True
            ),
            lambda: (_float64(2, 3, 4, 5),),
        )


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_the_plain_operation(name):
    plain, ours, make = CASES[name]
    arguments = make()
    one, other = plain(*arguments), ours(*arguments)
    assert one.shape == other.shape
    assert one.dtype == other.dtype
    torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)
    weights = torch.randn_like(one)
    for expected, found in zip(
        torch.autograd.grad(one, arguments, weights), torch.autograd.grad(other, arguments, weights), strict=True
    ):
        torch.testing.assert_close(expected, found, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_gradcheck_passes(name):
    _, ours, make = CASES[name]
    assert torch.autograd.gradcheck(ours, make())


def test_on_the_cpu_the_plain_operation_is_called():
    x, s, index = torch.randn(50, 8), torch.randn(20_000, 8), torch.randint(50, (20_000,))
    assert torch.equal(replacements.index_add(x, 0, index, s), torch.index_add(x, 0, index, s))
    assert torch.equal(replacements.cumsum(s, 0), torch.cumsum(s, 0))
    assert not torch.equal(replacements.cumsum(s, 0, everywhere=True), torch.cumsum(s, 0))


LARGE = {
    "index_add": lambda x, s, i, **k: replacements.index_add(x, 0, i, s, **k),
    "index_select": lambda x, s, i, **k: replacements.index_select(x, 0, i, **k) * s,
    "gather": lambda x, s, i, **k: replacements.gather(x, 0, i[:, None].expand_as(s), **k) * s,
    "scatter_add": lambda x, s, i, **k: replacements.scatter_add(x, 0, i[:, None].expand_as(s), s, **k),
    "cumsum": lambda x, s, i, **k: replacements.cumsum(s, 0, **k) * x[0],
    "upsample_bilinear": lambda x, s, i, **k: (
        replacements.upsample_bilinear(s.view(1, 4, 200, 200), scale_factor=2.0, **k) + x.sum()
    ),
}


@pytest.mark.parametrize(("mode", "everywhere"), [("error", True), ("error", False), ("off", False)])
@pytest.mark.parametrize("name", LARGE)
def test_values_and_gradients_repeat_bit_for_bit(name, mode, everywhere):
    """Large enough for several threads: an accumulating index_put without the mode fails here."""
    x, s = (torch.randn(n, 8).requires_grad_() for n in (50, 20_000))
    index = torch.randint(50, (20_000,))
    with rs.deterministic(mode):
        runs = []
        for _ in range(10):
            out = LARGE[name](x, s, index, everywhere=everywhere)
            runs.append([out.detach(), *torch.autograd.grad(out.square().sum(), (x, s), allow_unused=True)])
    for run in runs[1:]:
        assert all(torch.equal(a, b) for a, b in zip(run, runs[0], strict=True) if a is not None)


def test_an_infinity_stays_where_the_plain_sum_has_it():
    x = torch.ones(50)
    x[20] = float("inf")
    assert torch.equal(replacements.cumsum(x, 0, everywhere=True), torch.cumsum(x, 0))


def test_scatter_add_takes_a_source_larger_than_its_index():
    x, index, source = torch.zeros(3), torch.tensor([1, 1]), torch.tensor([1.0, 2.0, 4.0])
    assert torch.equal(
        replacements.scatter_add(x, 0, index, source, everywhere=True), torch.scatter_add(x, 0, index, source)
    )


def test_upsample_wants_size_or_factor():
    with pytest.raises(ValueError, match=r"exactly one of size=None and scale_factor=None is wanted"):
        replacements.upsample_bilinear(torch.ones(1, 1, 2, 2))


def test_the_list_is_read_from_the_installed_torch():
    listed = re.findall(r":(?:class|func):`torch[\w.]+`", torch.use_deterministic_algorithms.__doc__.split("Args:")[0])
    names = [o.name for o in operations()]
    # The text before the lists names one function; each bullet names one operation.
    assert len(names) == len([name for name in listed if "debug_mode" not in name])
    assert {o.under_mode for o in operations()} == {"deterministic", "raises"}
    raising = {o.name for o in operations() if o.under_mode == "raises"}
    assert {"torch.nn.MaxUnpool2d", "torch.Tensor.put_", "torch.cumsum", "torch.histc"} <= raising
    assert "torch.index_add" in {o.name for o in operations() if o.under_mode == "deterministic"}


def test_a_nested_list_belongs_to_its_item():
    one = next(o for o in operations() if o.name == "torch.nn.functional.interpolate")
    assert "bilinear" in one.when
    assert one.instead == "reproseed.determinism.replacements.upsample_bilinear"


def test_another_text_gives_no_operations():
    assert parse("") == ()


def test_every_replacement_named_exists():
    for operation in operations():
        for name in re.findall(r"reproseed\.determinism\.replacements\.(\w+)", operation.instead or ""):
            assert callable(getattr(replacements, name))


def test_the_error_of_torch_is_explained():
    x = torch.zeros(4)
    with rs.deterministic("error"):
        try:
            x.put_(torch.tensor([0]), torch.ones(1))
        except RuntimeError as error:
            found = explain(error)
    assert found.name == "put_"
    assert "index_put" in found.instead
    assert explain(ValueError("something else")) is None


@pytest.mark.parametrize(
    ("kernel", "replacement"),
    [
        ("cumsum_cuda_kernel", "cumsum"),
        ("upsample_bilinear2d_backward_out_cuda", "upsample_bilinear"),
        ("scatter_add_cuda_kernel", "scatter_add"),
        ("index_add_cuda_", "index_add"),
        ("kthvalue CUDA", None),
    ],
)
def test_kernels_are_known_by_their_names_in_errors(kernel, replacement):
    found = explain(f"{kernel} does not have a deterministic implementation, but you set ...")
    if replacement is None:
        assert found is None or found.instead is None
    else:
        assert found.instead == f"reproseed.determinism.replacements.{replacement}"


@pytest.mark.slow
def test_the_benchmark_prints_a_ratio_for_each_replacement():
    script = Path(__file__).parents[2] / "benchmarks" / "deterministic_ops.py"
    command = [sys.executable, str(script), "--rounds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, check=True)
    for name in ("index_add", "index_select", "gather", "scatter_add", "cumsum", "upsample_bilinear"):
        assert re.search(rf"^{name} +[\d.]+ ms +[\d.]+ +([\d.]+|raises)$", done.stdout, re.MULTILINE), done.stdout


# What the table says of the operations for which it ships no function: tried, so that no advice is wrong.


def test_advice_for_max_unpool():
    x, index = _float64(1, 1, 2), torch.tensor([[[1, 2]]])
    flat = replacements.scatter_add(torch.zeros(1, 1, 4, dtype=torch.float64), 2, index, x)
    assert torch.equal(flat, functional.max_unpool1d(x, index, 2))


def test_advice_for_put():
    x, index = torch.zeros(2, 3), torch.tensor([4, 0])
    expected = x.clone().put_(index, torch.tensor([1.0, 2.0]))
    assert torch.equal(x.flatten().index_put((index,), torch.tensor([1.0, 2.0])).view(2, 3), expected)


def test_advice_for_nll_loss():
    scores, target = functional.log_softmax(_float64(4, 3), 1), torch.tensor([0, 2, 1, 1])
    ours = -replacements.gather(scores, 1, target[:, None]).mean()
    torch.testing.assert_close(ours, functional.nll_loss(scores, target))


def test_advice_for_bincount():
    values, weights = torch.tensor([0, 2, 2]), torch.tensor([0.5, 1.0, 2.0])
    ours = replacements.scatter_add(torch.zeros(3), 0, values, weights)
    assert torch.equal(ours, torch.bincount(values, weights).float())


def test_advice_for_reflection_pad():
    x = _float64(1, 2, 4)
    ours = replacements.index_select(x, 2, torch.tensor([2, 1, 0, 1, 2, 3, 2]))
    assert torch.equal(ours, functional.pad(x, (2, 1), mode="reflect"))


def test_advice_for_adaptive_pooling():
    x = _float64(1, 2, 4, 6)
    ours = x.reshape(1, 2, 2, 2, 3, 2).mean((3, 5))
    torch.testing.assert_close(ours, functional.adaptive_avg_pool2d(x, (2, 3)))
