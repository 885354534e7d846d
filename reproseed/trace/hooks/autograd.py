"""Backward passes: the loss going in, the gradients that were accumulated."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from reproseed.trace.fingerprint import digest, kind_of, leaves, tensor_digest
from reproseed.trace.hooks.scopes import short
from reproseed.trace.models import tensors
from reproseed.trace.recorder import recorded

if TYPE_CHECKING:
    from reproseed.trace.recorder import Recorder


def install(recorder: Recorder) -> Callable[[], None]:
    """Wrap ``torch.autograd.backward``, which ``Tensor.backward`` calls."""
    import torch

    plain = torch.autograd.backward

    @functools.wraps(plain)
    def backward(tensors: Any, *args: Any, **keywords: Any) -> None:
        if torch._C._current_graph_task_id() != -1:  # inside another one, as checkpointing is
            plain(tensors, *args, **keywords)
            return
        _before(recorder, tensors)
        plain(tensors, *args, **keywords)
        _after(recorder)

    torch.autograd.backward = backward

    def undo() -> None:
        torch.autograd.backward = plain

    return undo


@recorded
def _before(recorder: Recorder, losses: Any) -> None:
    if not recorder.wanted("state"):
        return
    recorder.emit_generators("before backward")
    _emit_gradients(recorder, "before")
    for path, loss in leaves(losses):
        value = repr(loss.detach().item()) if loss.numel() == 1 and not loss.is_meta else None
        recorder.emit("loss", f"loss{path}", h=tensor_digest(loss), shape=kind_of(loss), v=value)


@recorded
def _after(recorder: Recorder) -> None:
    if not recorder.wanted("state"):
        return
    _emit_gradients(recorder, "after")
    recorder.emit_generators("after backward")


def _emit_gradients(recorder: Recorder, when: str) -> None:
    for model in recorder.models.alive():
        module = model.module
        if module is not None:
            each = tensors((name, p.grad) for name, p in module.named_parameters())
            recorder.emit("grads", f"{model.label} {when}", h=digest(repr(each)), d=short(each))
