"""Where the tracer listens: one module a kind of thing that happens.

Each has ``install(recorder)``, which returns the function that takes it out again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reproseed.trace.recorder import Recorder


def install(recorder: Recorder) -> list[Callable[[], None]]:
    """Install all hooks; return how to take them out, last in, first out."""
    from reproseed.trace.hooks import autograd, compiled, loaders, modules, ops, optimizers, scopes

    undo = [one.install(recorder) for one in (scopes, loaders, autograd, optimizers)]
    take_out_modules = modules.install(recorder)
    undo += [take_out_modules, compiled.install(recorder, take_out_modules)]
    if recorder.level == "ops":
        undo.append(ops.install(recorder))
    return undo
