"""Optimizer steps: state, hyperparameters and gradients before, parameters after."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from reproseed.trace.fingerprint import digest, structure_digest, tensor_digest, value_digest
from reproseed.trace.hooks.scopes import short
from reproseed.trace.models import tensors
from reproseed.trace.recorder import recorded

if TYPE_CHECKING:
    import torch

    from reproseed.trace.recorder import Recorder


def install(recorder: Recorder) -> Callable[[], None]:
    """Register the global step hooks."""
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    def before(optimizer: torch.optim.Optimizer, args: Any, keywords: Any) -> None:
        _before(recorder, optimizer)

    def after(optimizer: torch.optim.Optimizer, args: Any, keywords: Any) -> None:
        _after(recorder, optimizer)

    handles = [register_optimizer_step_pre_hook(before), register_optimizer_step_post_hook(after)]

    def undo() -> None:
        for handle in handles:
            handle.remove()

    return undo


@recorded
def _before(recorder: Recorder, optimizer: torch.optim.Optimizer) -> None:
    label = recorder.models.optimizer(optimizer)
    recorder.emit_generators(f"before step of {label}")  # at every level: a loop may have no loader and no scope
    if not recorder.wanted("state"):
        return
    names = _names(recorder, optimizer)
    states = {names[id(p)]: structure_digest(s).digest for p, s in optimizer.state.items() if id(p) in names}
    states = dict(sorted(states.items()))
    recorder.emit("optimizer", label, h=digest(repr(states)), count=len(states), d=short(states))
    recorder.emit("hyper", label, groups=[_plain(group) for group in optimizer.param_groups])
    grads = tensors((names[id(p)], p.grad) for group in optimizer.param_groups for p in group["params"])
    recorder.emit("step.grads", label, h=digest(repr(grads)), d=short(grads))


@recorded
def _after(recorder: Recorder, optimizer: torch.optim.Optimizer) -> None:
    label = recorder.models.optimizer(optimizer)
    if recorder.wanted("state"):
        names = _names(recorder, optimizer)
        each = tensors((names[id(p)], p) for group in optimizer.param_groups for p in group["params"])
        recorder.emit("step.params", label, h=digest(repr(each)), d=short(each))
        recorder.emit_generators(f"after step of {label}")
    recorder.places.stepped()


def _names(recorder: Recorder, optimizer: torch.optim.Optimizer) -> dict[int, str]:
    """Return the names of an optimizer's parameters: their model's where it is known, else group and number."""
    known = recorder.models.parameter_names()
    return {
        id(p): known.get(id(p), f"group{g}.{i}")
        for g, group in enumerate(optimizer.param_groups)
        for i, p in enumerate(group["params"])
    }


def _plain(group: dict[str, Any]) -> dict[str, Any]:
    """Return a group's settings, tensors as their value where they hold one."""
    import torch

    found: dict[str, Any] = {"params": len(group["params"])}
    for name, value in group.items():
        if name == "params":
            continue
        if isinstance(value, torch.Tensor):
            value = repr(value.item()) if value.numel() == 1 else tensor_digest(value)
        elif isinstance(value, (bool, int, str, type(None))):
            pass
        elif isinstance(value, (float, list, tuple)):
            value = repr(value)
        else:
            value = value_digest(value)
        found[name] = value
    return found
