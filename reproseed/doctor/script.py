"""Hints from the text of a script; it is read, never run. `reproseed lint` has the full list of rules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from reproseed.doctor.findings import Finding, Level
from reproseed.errors import ReproseedError

_SEEDS = ("manual_seed", "manual_seed_all", "seed_everything", "set_seed")
_VARIABLES = {
    "PYTHONHASHSEED": "The running interpreter has read it: set it before start, `PYTHONHASHSEED=0 python ...`.",
    "CUBLAS_WORKSPACE_CONFIG": "cuBLAS reads it once: set it before start, or use rs.init(deterministic=...).",
}


class DoctorError(ReproseedError, OSError):
    """The script cannot be read or is not Python; the message says which."""


def examine_script(path: str) -> Iterator[Finding]:
    """Yield hints on one script.

    Raises:
        DoctorError: it cannot be read, or is not Python.
    """
    try:
        tree = ast.parse(Path(path).read_text(encoding="utf-8"), path)
    except (OSError, UnicodeDecodeError) as error:
        raise DoctorError(f"cannot read the script {path!r}: {error}. A path to a Python file is wanted.") from None
    except (SyntaxError, ValueError) as error:
        raise DoctorError(f"the script {path!r} is not Python that this interpreter reads: {error}.") from None
    for node in ast.walk(tree):
        for level, topic, found, do in _hints(node):
            yield Finding(topic, level, found, do, f"{path}:{getattr(node, 'lineno', 0)}")


def _hints(node: ast.AST) -> Iterator[tuple[Level, str, str, str]]:
    if isinstance(node, ast.Call):
        yield from _of_call(node)
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _of_assignment(target, node.value)


def _of_call(node: ast.Call) -> Iterator[tuple[Level, str, str, str]]:
    name = ast.unparse(node.func)
    last = name.rsplit(".", 1)[-1]
    keywords = {k.arg: k.value for k in node.keywords if k.arg is not None}
    if last in _SEEDS or name in ("random.seed", "np.random.seed", "numpy.random.seed"):
        do = "Remove it: rs.init(master_seed=...) and rs.seeded(...) seed; rs.testing.watch_seeding() finds the rest."
        yield "note", "seeding", f"{name}(...) seeds behind the run's back.", do
    if _is_true(keywords.get("persistent_workers")):
        do = "rs.data.seeded_loader(...), same arguments, or persistent_workers=False."
        yield "problem", "DataLoader", "persistent_workers=True: workers that outlive an epoch keep old streams.", do
    if last in ("LSTM", "GRU", "RNN") and not _is_zero(keywords.get("dropout")) and "num_layers" in keywords:
        found = (
            f"{last} with dropout between layers: on CUDA, cuDNN keeps that dropout's state, out of a reseed's reach."
        )
        yield "note", last, found, "One layer each, with a torch.nn.Dropout between them."
    if name in ("torch.compile", "compile") and name != "compile":
        do = "Set flags before the first call, and compare compiled with compiled."
        yield (
            "note",
            "torch.compile",
            "compiled code keeps the flags of its time, and draws otherwise than eager code.",
            do,
        )
    if name.endswith("environ.setdefault") and node.args:
        yield from _of_variable(node.args[0])


def _of_assignment(target: ast.expr, value: ast.expr) -> Iterator[tuple[Level, str, str, str]]:
    if isinstance(target, ast.Subscript) and ast.unparse(target.value).endswith("environ"):
        yield from _of_variable(target.slice)
    if isinstance(target, ast.Attribute) and ast.unparse(target).endswith("cudnn.benchmark") and _is_true(value):
        found = "cuDNN chooses algorithms by timing them, so that two runs may choose differently."
        yield "problem", "cudnn.benchmark", found, "Remove it, or use rs.deterministic()."


def _of_variable(name: ast.expr) -> Iterator[tuple[Level, str, str, str]]:
    if isinstance(name, ast.Constant) and name.value in _VARIABLES:
        yield "problem", "environment", f"{name.value} is set while the script runs.", _VARIABLES[name.value]


def _is_true(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value is True


def _is_zero(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and not value.value)
