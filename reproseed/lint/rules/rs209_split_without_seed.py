"""Data is split or shuffled without a random state.

The parts then depend on whatever was drawn before, so that test samples of one run are training
samples of the next. Pass random_state=rs.stream("split", shared=True).seed(): an integer that
belongs to the run.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.flow import argument, is_literal, is_none, unpacks
from reproseed.lint.project import Project
from reproseed.lint.source import Module

LEVEL = "W"
BAD = (
    """
from sklearn.model_selection import train_test_split

train, test = train_test_split(x, test_size=0.2)
""",
)
GOOD = (
    """
from sklearn.model_selection import train_test_split

train, test = train_test_split(x, test_size=0.2, random_state=7)
""",
    """
from sklearn.model_selection import KFold

folds = KFold(5)
""",
)

_ALWAYS = (
    "ShuffleSplit",
    "StratifiedShuffleSplit",
    "GroupShuffleSplit",
    "RepeatedKFold",
    "RepeatedStratifiedKFold",
)
_IF_SHUFFLED = ("KFold", "StratifiedKFold", "StratifiedGroupKFold")


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find splits of scikit-learn, pandas and datasets that draw without a seed."""
    for call in module.calls(*(f"sklearn.model_selection.{name}" for name in _ALWAYS)):
        yield from _unseeded(call, "random_state")
    for call in module.calls("sklearn.utils.shuffle", "sklearn.utils.resample"):
        yield from _unseeded(call, "random_state")
    for call in module.calls("sklearn.model_selection.train_test_split"):
        if not is_literal(argument(call, None, "shuffle"), False):
            yield from _unseeded(call, "random_state")
    for call in module.calls(*(f"sklearn.model_selection.{name}" for name in _IF_SHUFFLED)):
        if is_literal(argument(call, 1, "shuffle"), True):
            yield from _unseeded(call, "random_state")
    if "pandas" in module.imports:
        for call in module.methods("sample"):
            if argument(call, None, "frac") is not None:
                yield from _unseeded(call, "random_state")
    if "datasets" in module.imports:
        for call in module.methods("train_test_split"):
            if not module.resolve(call.func) and not is_literal(argument(call, None, "shuffle"), False):
                yield from _unseeded(call, "seed", "generator")


def _unseeded(call: ast.Call, *keywords: str) -> Iterator[ast.Call]:
    if not unpacks(call) and is_none(argument(call, None, *keywords)):
        yield call
