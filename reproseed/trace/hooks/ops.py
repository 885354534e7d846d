"""Single operations, through a dispatch mode that is on in the selected steps only: it is slow."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from reproseed import stack
from reproseed.trace.fingerprint import structure_digest
from reproseed.trace.generators import state_of
from reproseed.trace.recorder import recorded

if TYPE_CHECKING:
    from reproseed.stack import Entry
    from reproseed.trace.recorder import Recorder


def install(recorder: Recorder) -> Callable[[], None]:
    """Switch the mode on and off as the run goes from place to place."""
    import torch
    from torch.optim.optimizer import register_optimizer_step_post_hook
    from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode

    class Listening(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch leaves its modes untyped
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            before = state_of(torch.default_generator) if torch.Tag.nondeterministic_seeded in func.tags else None
            output = func(*args, **(kwargs or {}))
            _operation(recorder, func, output, before)
            return output

    make: Any = Listening
    mode: Any = make()
    on_top: Any = _get_current_dispatch_mode
    on = False

    def switch() -> None:
        nonlocal on
        wanted = recorder.listening() and recorder.selection.holds(recorder.places.now(), recorder.places.steps)
        if wanted and not on:
            mode.__enter__()
            on = True
        elif on and not wanted and on_top() is mode:  # else one of the user's lies on top
            mode.__exit__(None, None, None)
            on = False

    def observe(event: str, entry: Entry) -> None:
        if event in ("enter", "at"):
            switch()

    def stepped(*_: Any) -> None:
        switch()

    stack.observers.append(observe)
    handle = register_optimizer_step_post_hook(stepped)
    switch()

    def undo() -> None:
        stack.observers.remove(observe)
        handle.remove()
        if on and on_top() is mode:
            mode.__exit__(None, None, None)

    return undo


@recorded
def _operation(recorder: Recorder, func: Any, output: Any, before: Any) -> None:
    import torch

    if not recorder.wanted("ops"):
        return
    found = structure_digest(output)
    if "empty" in str(func):  # memory that nobody has written to
        found = found._replace(digest="")
    drew = {} if before is None else {"drew": state_of(torch.default_generator) != before}
    recorder.emit("op", str(func), h=found.digest, shape=found.shape, **drew)
