"""torch.compile: a hook inside compiled code would break its graph, so from then on modules are not recorded."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from reproseed.trace.recorder import recorded

if TYPE_CHECKING:
    from reproseed.trace.recorder import Recorder

REASON = "a module was compiled: calls of modules are not recorded from here on"


def install(recorder: Recorder, take_out_modules: Callable[[], None]) -> Callable[[], None]:
    """Wrap ``torch.compile``, which ``Module.compile`` calls; the module hooks go before anything is compiled."""
    import torch

    plain = torch.compile

    @functools.wraps(plain)
    def compile(model: Any = None, *args: Any, **keywords: Any) -> Any:  # noqa: A001 - stands for torch's
        take_out_modules()
        _degrade(recorder, model)
        return plain(model, *args, **keywords)

    torch.compile = compile

    def undo() -> None:
        torch.compile = plain

    return undo


@recorded
def _degrade(recorder: Recorder, model: Any) -> None:
    import torch

    owner = getattr(model, "__self__", model)
    if isinstance(owner, torch.nn.Module):
        recorder.models.model(owner)
    if REASON not in recorder.said:
        recorder.said.add(REASON)
        recorder.degrade(REASON)
