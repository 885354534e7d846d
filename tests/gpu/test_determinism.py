"""Flags, cuBLAS's variable and the replacements on a device; skipped elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

import reproseed as rs
from reproseed.determinism import TABLE, WORKSPACE, replacements

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

IN_TIME = """
import torch, reproseed as rs
with rs.deterministic("error"):
    x = torch.rand(64, 64, device="cuda", requires_grad=True)
    (x @ x).sum().backward()
    line = next(s for s in rs.determinism.report() if s.name == "CUBLAS_WORKSPACE_CONFIG")
    assert (line.current, line.in_force) == (":4096:8", "unknown"), line
print("in time")
"""
TOO_LATE = """
import torch, reproseed as rs
torch.rand(1, device="cuda")
try:
    with rs.deterministic("error"):
        pass
except rs.DeterminismError as error:
    assert "too late" in str(error)
    assert not torch.are_deterministic_algorithms_enabled()
    print("too late")
"""


@pytest.mark.parametrize(("code", "said"), [(IN_TIME, "in time"), (TOO_LATE, "too late")], ids=["before", "after"])
def test_cublas_is_deterministic_if_the_scope_comes_before_cuda(code, said):
    env = {name: value for name, value in os.environ.items() if name != WORKSPACE}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=env)
    assert done.stdout.split("\n")[0] == said, done.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [("cudnn.benchmark_limit", 3), ("cuda.preferred_linalg_library", "cusolver"), ("cudnn.enabled", False)],
)
def test_a_flag_that_only_a_device_build_has_is_set_and_put_back(name, value):
    before = TABLE[name].read()
    with rs.deterministic("off", flags={name: value}):
        assert str(value).lower() in str(TABLE[name].read()).lower()
    assert TABLE[name].read() == before


INDEX = torch.randint(50, (20_000,), generator=torch.Generator().manual_seed(1))
PAIRS = {
    "index_add": (
        lambda x, s, i: torch.index_add(x, 0, i, s),
        lambda x, s, i: replacements.index_add(x, 0, i, s),
    ),
    "index_select": (lambda x, s, i: x.index_select(0, i) * s, lambda x, s, i: replacements.index_select(x, 0, i) * s),
    "scatter_add": (
        lambda x, s, i: torch.scatter_add(x, 0, i[:, None].expand_as(s), s),
        lambda x, s, i: replacements.scatter_add(x, 0, i[:, None].expand_as(s), s),
    ),
    "cumsum": (lambda x, s, i: s.cumsum(0) * x[0], lambda x, s, i: replacements.cumsum(s, 0) * x[0]),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_replacement_is_the_plain_operation_and_repeats(name):
    plain, ours = PAIRS[name]
    generator = torch.Generator().manual_seed(2)
    x, s = (torch.randn(n, 8, generator=generator).cuda().requires_grad_() for n in (50, 20_000))
    runs = []
    for _ in range(10):
        out = ours(x, s, INDEX.cuda())
        runs.append([out.detach(), *torch.autograd.grad(out.square().sum(), (x, s))])
    for run in runs[1:]:
        assert all(torch.equal(one, other) for one, other in zip(run, runs[0], strict=True))
    wide = [t.detach().double().requires_grad_() for t in (x, s)]
    for function in (plain, ours):
        out = function(*wide, INDEX.cuda())
        grads = torch.autograd.grad(out.square().sum(), wide)
        if function is plain:
            expected = [out.detach(), *grads]
        else:
            for one, other in zip(expected, [out.detach(), *grads], strict=True):
                torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)
