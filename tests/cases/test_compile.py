"""Section J of the cases: compiled callers of scopes, and recomputation in the backward pass."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.utils.checkpoint import checkpoint

import reproseed as rs
from reproseed import stack


@pytest.fixture
def run():
    environment = dict(os.environ)
    torch._dynamo.reset()
    yield rs.init(master_seed=52)
    torch._dynamo.reset()
    os.environ.clear()  # torch's compiler leaves settings of its own there
    os.environ.update(environment)


@rs.seeded(task="noise", restore=True)
def noise(x):
    return x + torch.rand(4)


class Model(torch.nn.Module):
    @rs.seeded(task="noise", restore=True)
    def noise(self, x):
        return x + torch.rand(4)

    @rs.seeded(task="noise", restore=True)
    @staticmethod
    def static(x):
        return x + torch.rand(4)

    @classmethod
    @rs.seeded(task="noise", restore=True)
    def of_class(cls, x):
        return x + torch.rand(4)

    def forward(self, x):
        return self.noise(x) * 2


MODEL = Model()


def with_block(x):
    with rs.seeded(task="noise", restore=True):
        y = x + torch.rand(4)
    return y * 2


def with_preserved(x):
    with rs.preserved():
        y = torch.rand(4)
    return x + y - torch.rand(4)


def with_steps(x):
    with rs.seeded(task="noise", epoch=0, restore=True):
        for _ in rs.steps(2):
            x = x + torch.rand(4)
    return x


CALLERS = {
    "decorated function": lambda x: noise(x) * 2,
    "decorated function itself": noise,
    "decorated method": lambda x: MODEL.noise(x) * 2,
    "decorated static method": lambda x: MODEL.static(x) * 2,
    "decorated class method": lambda x: Model.of_class(x) * 2,
    "module": MODEL,
    "with block": with_block,
    "preserved": with_preserved,
    "steps": with_steps,
}


@pytest.mark.parametrize("fullgraph", [False, True], ids=["breaks", "fullgraph"])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("caller", CALLERS)
def test_case_52_a_scope_inside_a_compiled_function_has_the_eager_values_or_a_readable_error(
    run, caller, backend, fullgraph
):
    function, x = CALLERS[caller], torch.ones(4)
    torch.rand(3)
    before = rs.snapshot()
    expected = function(x)
    after = rs.snapshot()
    before.restore()
    compiled = torch.compile(function, backend=backend, fullgraph=fullgraph)
    refused = ""
    for _ in range(2):
        before.restore()
        try:
            value = compiled(x)
        except torch._dynamo.exc.Unsupported as error:
            refused = str(error)
            break
        assert torch.equal(value, expected)
        assert rs.snapshot() == after
    assert stack.innermost() is None
    if refused:
        assert fullgraph, refused
        assert "torch.compiler.disable" in refused
        # The user's own line, where there is one: a decorated function that is compiled itself has none around it.
        assert "test_compile.py" in refused or caller == "decorated function itself"


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_case_52_a_compiled_call_in_a_scope_repeats(run, backend):
    compiled = torch.compile(lambda x: torch.nn.functional.dropout(x, 0.5), backend=backend, fullgraph=True)
    x = torch.ones(64)
    compiled(x)
    seen = []
    for epoch in (0, 0, 1):
        with rs.seeded(task="t", epoch=epoch):
            seen.append(compiled(x))
    assert torch.equal(seen[0], seen[1])
    assert not torch.equal(seen[0], seen[2])


DEFAULT_BACKEND = """
import torch, reproseed as rs
rs.init(master_seed=1)
compiled = torch.compile(lambda x: torch.nn.functional.dropout(x, 0.5))
x = torch.ones(256)
with rs.preserved():
    compiled(x)
seen = []
for epoch in (0, 0, 1):
    before = rs.snapshot()
    with rs.seeded(task="t", epoch=epoch, restore=True):
        seen.append(compiled(x))
    assert rs.snapshot() == before
assert torch.equal(seen[0], seen[1])
assert not torch.equal(seen[0], seen[2])
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "clang++"))), reason="the default backend needs a C++ compiler, found none"
)
def test_case_52_dropout_of_the_default_backend_repeats_in_a_scope(tmp_path):
    """In a process of its own: the backend leaves threads and variables behind."""
    environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", DEFAULT_BACKEND], check=True, timeout=240, env=environment)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_case_52_a_compiled_training_step_inside_steps_repeats(run, backend):
    def train():
        with rs.seeded(task="init", restore=True):
            model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1))
        step_of = torch.compile(lambda x: model(x).square().sum(), backend=backend)
        losses = []
        with rs.seeded(task="train", epoch=0, restore=True):
            for _ in rs.steps(3):
                loss = step_of(torch.rand(8, 4))
                loss.backward()
                losses.append(loss.item())
        return losses

    assert train() == train()


# --- recomputation --------------------------------------------------------------------------------------------


def plain_block(x):
    """Draws from torch alone, which torch's preserve flag covers."""
    return torch.sin(x * (torch.rand_like(x) > 0.5))


def scoped_block(x):
    """Draws from all three libraries in a scope of its own."""
    with rs.seeded(task="block", restore=True):
        scale = random.random() + float(np.random.random())
        return torch.sin(x * (torch.rand_like(x) > 0.5)) * scale


@rs.seeded(task="block")
def decorated_block(x):
    scale = random.random() + float(np.random.random())
    return torch.sin(x * (torch.rand_like(x) > 0.5)) * scale


BLOCKS = {"plain": plain_block, "scope": scoped_block, "decorated": decorated_block}


@pytest.mark.parametrize("backward", ["inside", "after", "another epoch"])
@pytest.mark.parametrize("reentrant", [True, False], ids=["reentrant", "not reentrant"])
@pytest.mark.parametrize("preserve", [True, False], ids=["preserved", "not preserved"])
@pytest.mark.parametrize("block", BLOCKS)
def test_case_54_gradients_with_checkpointing_equal_those_without(run, block, preserve, reentrant, backward):
    if block == "plain" and not preserve:
        pytest.skip(
            "without a scope and without torch's preserve flag nobody keeps the stream: the case's fault itself"
        )
    function = BLOCKS[block]

    def train(checkpointed):
        x = torch.linspace(0.1, 3, 32, requires_grad=True)
        rs.reseed("begin")
        with rs.seeded(task="train", epoch=0, restore=True):
            if checkpointed:
                y = checkpoint(function, x, use_reentrant=reentrant, preserve_rng_state=preserve)
            else:
                y = function(x)
            if backward == "inside":
                before = rs.snapshot()
                y.sum().backward()
                assert rs.snapshot() == before
            following = draws()
        if backward == "after":
            before = rs.snapshot()
            y.sum().backward()
            assert rs.snapshot() == before
        if backward == "another epoch":
            with rs.seeded(task="train", epoch=1, restore=True):
                draws()
                before = rs.snapshot()
                y.sum().backward()
                assert rs.snapshot() == before
                following += draws()
        assert stack.innermost() is None
        return x.grad, following

    (one, after_one), (two, after_two) = train(True), train(False)
    assert torch.equal(one, two)
    assert after_one == after_two


def draws():
    return random.random(), float(np.random.random()), float(torch.rand(()))


def test_case_54_the_fault_is_there_without_scope_and_flag(run):
    x = torch.linspace(0.1, 3, 64, requires_grad=True)
    masks = []

    def block(x):
        masks.append(torch.rand_like(x) > 0.5)
        return torch.sin(x * masks[-1])

    checkpoint(block, x, use_reentrant=False, preserve_rng_state=False).sum().backward()
    assert not torch.equal(*masks)


@pytest.mark.parametrize("reentrant", [True, False], ids=["reentrant", "not reentrant"])
def test_case_54_a_whole_training_with_nested_checkpointing_has_the_same_bits(run, reentrant):
    class Layer(torch.nn.Module):
        def __init__(self, index):
            super().__init__()
            self.index, self.linear = index, torch.nn.Linear(8, 8)

        def forward(self, x):
            with rs.current().at(layer=self.index) if rs.stack.innermost() else contextlib.nullcontext():
                return torch.nn.functional.dropout(self.linear(x), 0.3) + random.random()

    def train(checkpointed):
        with rs.seeded(task="init", restore=True):
            layers = [Layer(index) for index in range(3)]
        optimizer = torch.optim.SGD([p for layer in layers for p in layer.parameters()], 0.1)
        with rs.seeded(task="train", epoch=0, restore=True):
            for _ in rs.steps(3):
                x = torch.rand(4, 8, requires_grad=True)
                for layer in layers:
                    x = (
                        checkpoint(layer, x, use_reentrant=reentrant, preserve_rng_state=False)
                        if checkpointed
                        else layer(x)
                    )
                optimizer.zero_grad()
                x.square().sum().backward()
                optimizer.step()
        return torch.cat([p.flatten() for layer in layers for p in layer.parameters()])

    assert torch.equal(train(True), train(False))
