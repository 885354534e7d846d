import ast

import pytest

from reproseed.lint.source import Module


def resolved(text):
    """Full name of the callee of the last call in a source."""
    module = Module("x.py", text)
    return module.resolve(max(module.nodes(ast.Call), key=lambda c: c.lineno).func)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import torch\ntorch.manual_seed(0)", "torch.manual_seed"),
        ("import torch as t\nt.manual_seed(0)", "torch.manual_seed"),
        ("from torch import manual_seed as ms\nms(0)", "torch.manual_seed"),
        ("import numpy.random as npr\nnpr.seed(0)", "numpy.random.seed"),
        ("import numpy.random\nnumpy.random.seed(0)", "numpy.random.seed"),
        ("from torch import random as r\nr.manual_seed(0)", "torch.manual_seed"),
        (
            "from torch.utils.data.dataloader import DataLoader\nDataLoader(0)",
            "torch.utils.data.DataLoader",
        ),
        ("import random\nfix = random.seed\nfix(0)", "random.seed"),
        ("def f():\n    import random\n    random.seed(0)", "random.seed"),
        (
            "try:\n    import torch\nexcept ImportError:\n    torch = None\ntorch.seed()",
            "torch.seed",
        ),
        ("from torch import *\nmanual_seed(0)", "torch.manual_seed"),
        ("sorted([])", "builtins.sorted"),
        ("import random\ndef f(random):\n    random.seed(0)", ""),
        (
            "import random\ndef f():\n    random = other()\n    return random\n\nrandom.seed(0)",
            "random.seed",
        ),
        ("def sorted(x): ...\nsorted([])", ""),
        ("class A:\n    import random\n    def f(self):\n        random.seed(0)", ""),
        ("import random\nrandom.seed(0)\nfor seed in range(3):\n    seed(0)", ""),
        ("self.rng.seed(0)", ""),
        ("f()(0)", ""),
        ("from .utils import set_seed\nset_seed(0)", ".utils.set_seed"),
    ],
)
def test_a_callee_is_resolved_through_imports_and_scopes(text, name):
    assert resolved(text) == name


def test_values_of_a_name_come_from_its_own_scope():
    module = Module("x.py", "a = 1\ndef f():\n    a, b = 2, 3\n    return a, b\n")
    names = {n.id: n for n in module.nodes(ast.Name) if isinstance(n.ctx, ast.Load)}
    assert [ast.unparse(v) for v in module.values(names["a"])] == ["2"]
    assert [ast.unparse(v) for v in module.values(names["b"])] == ["3"]


def test_loops_repeat_their_body_and_not_their_iterable():
    module = Module("x.py", "for i in f():\n    while g():\n        h()\n")
    depth = {ast.unparse(c.func): len(module.loops(c)) for c in module.nodes(ast.Call)}
    assert depth == {"f": 0, "g": 2, "h": 2}
