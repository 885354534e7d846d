"""Compilation picks its kernels by timing them.

The winner may differ from run to run, and with it the order of sums. Use the default mode where
bits must repeat, or torch._inductor.config.deterministic = True; rs.deterministic(...) sets it.
"""

import ast
from collections.abc import Iterator

from reproseed.lint.flags import stores
from reproseed.lint.flow import argument, is_literal
from reproseed.lint.project import Project
from reproseed.lint.source import Module

LEVEL = "I"
BAD = (
    """
import torch

model = torch.compile(model, mode="max-autotune")
""",
)
GOOD = (
    """
import torch

model = torch.compile(model, mode="reduce-overhead")
""",
)

_MODES = ("max-autotune", "max-autotune-no-cudagraphs")
_CONFIG = tuple(
    f"torch._inductor.config.{name}"
    for name in (
        "max_autotune",
        "max_autotune_gemm",
        "max_autotune_pointwise",
        "coordinate_descent_tuning",
    )
)


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find autotuning asked for by mode, option or configuration."""
    for call in module.calls("torch.compile"):
        options = argument(call, None, "options")
        asked = isinstance(options, ast.Dict) and any(
            is_literal(key, "max_autotune") and is_literal(value, True)
            for key, value in zip(options.keys, options.values, strict=True)
        )
        if asked or is_literal(argument(call, None, "mode"), *_MODES):
            yield call
    for target, value in stores(module, *_CONFIG):
        if is_literal(value, True):
            yield target
