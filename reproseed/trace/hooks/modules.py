"""Calls of modules, through global hooks: hooks of single modules would switch fused paths off.

Of a call from outside (a model's, a loss module's) the inputs, modes, settings, buffers and parameters are recorded as
the call begins; of every module the output, when it is made: a later in-place operation changes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from reproseed.sources.discovery import find_generators
from reproseed.trace import environment
from reproseed.trace.fingerprint import digest, structure_digest
from reproseed.trace.generators import describe, registered
from reproseed.trace.hooks.scopes import short
from reproseed.trace.models import Model, modes, settings, tensors
from reproseed.trace.recorder import recorded

if TYPE_CHECKING:
    import torch

    from reproseed.trace.recorder import Recorder


class _Calls:
    """The modules that are being called, outermost first."""

    def __init__(self) -> None:
        self.open: list[int] = []
        self.model: Model | None = None
        self.looked: dict[str, Any] = {}
        self.hashed: dict[str, tuple[Any, ...]] = {}


def install(recorder: Recorder) -> Callable[[], None]:
    """Register the global hooks."""
    from torch.nn.modules import module as global_hooks

    calls = _Calls()

    def before(module: torch.nn.Module, args: Any) -> None:
        _before(recorder, calls, module, args)

    def after(module: torch.nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        _after(recorder, calls, module, kwargs, output)

    handles = [
        global_hooks.register_module_forward_pre_hook(before),
        global_hooks.register_module_forward_hook(after, with_kwargs=True, always_call=True),
    ]

    def undo() -> None:
        for handle in handles:
            handle.remove()
        global_hooks._global_forward_hooks_with_kwargs.pop(handles[1].id, None)  # torch forgets to

    return undo


@recorded
def _before(recorder: Recorder, calls: _Calls, module: torch.nn.Module, args: Any) -> None:
    import torch

    if torch._C._current_graph_task_id() != -1 or torch.compiler.is_compiling():
        return  # a recomputation in the backward pass, or a compiler's own call
    calls.open.append(id(module))
    if len(calls.open) > 1:
        return
    calls.model = recorder.models.model(module)
    if recorder.wanted("state"):
        _emit_start(recorder, calls, calls.model, module, args)


def _emit_start(recorder: Recorder, calls: _Calls, model: Model, module: torch.nn.Module, args: Any) -> None:
    import torch

    label, grad = model.label, torch.is_grad_enabled()
    recorder.emit_generators(f"before forward of {label}")
    inputs = structure_digest(args)
    recorder.emit("input", label, h=inputs.digest, shape=inputs.shape, grad=grad)
    key = (recorder.places.steps, recorder.places.now()[0][:1])
    if not grad and calls.hashed.get(label) == key:
        return  # an evaluation's later batches: the same model
    calls.hashed[label] = key
    recorder.emit("flags", label, **environment.flags())
    recorder.emit("mode", label, d=modes(module))
    recorder.emit("settings", label, d=settings(module))
    for path, generator in _generators_of(calls, label, module).items():
        known = any(generator is one for one in registered().values())
        recorder.emit("generator", f"{label}.{path}", of="model", registered=known, **describe(generator))
    for kind, named in (("params", module.named_parameters()), ("buffers", module.named_buffers())):
        each = tensors(named)
        if each:
            recorder.emit(kind, label, h=digest(repr(each)), d=short(each))


def _generators_of(calls: _Calls, label: str, module: torch.nn.Module) -> dict[str, Any]:
    """Look for generators inside a model, once: the walk is slow."""
    if label not in calls.looked:
        calls.looked[label] = find_generators(module)
    found: dict[str, Any] = calls.looked[label]
    return found


@recorded
def _after(recorder: Recorder, calls: _Calls, module: torch.nn.Module, kwargs: Any, output: Any) -> None:
    if id(module) not in calls.open:
        return
    while calls.open and calls.open.pop() != id(module):
        pass  # calls that ended by an exception which hooks do not see
    model, outermost = calls.model, not calls.open
    if model is None or not recorder.wanted("state" if outermost else "tensors"):
        return
    if outermost and kwargs:
        inputs = structure_digest(kwargs)
        recorder.emit("input", f"{model.label} keywords", h=inputs.digest, shape=inputs.shape)
    name = model.label if outermost else f"{model.label}.{_name(model, module)}"
    found = structure_digest(output)
    recorder.emit("output", name, h=found.digest, shape=found.shape, m=type(module).__name__)
    if outermost:
        recorder.emit_generators(f"after forward of {model.label}")


def _name(model: Model, module: torch.nn.Module) -> str:
    if id(module) not in model.names and model.module is not None:
        model.read_names(model.module)
    return model.names.get(id(module), type(module).__name__)
