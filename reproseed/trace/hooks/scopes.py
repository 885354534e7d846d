"""Scopes and steps of reproseed: where generators were seeded, and in what state a step ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from reproseed import stack
from reproseed.trace.fingerprint import digest
from reproseed.trace.models import tensors
from reproseed.trace.recorder import recorded

if TYPE_CHECKING:
    from reproseed.stack import Entry
    from reproseed.trace.recorder import Recorder


def install(recorder: Recorder) -> Callable[[], None]:
    """Observe the scope stack."""

    def observe(event: str, entry: Entry) -> None:
        _told(recorder, event, entry)

    stack.observers.append(observe)
    return lambda: stack.observers.remove(observe)


@recorded
def _told(recorder: Recorder, event: str, entry: Entry) -> None:
    seeded = entry.seeds and entry.seeder.seeding
    if event == "enter":
        recorder.places.enter(entry)
        recorder.generators.enter()
        recorder.emit_generators("scope", seeded)
    elif event == "at":
        recorder.emit_generators("step", seeded)
    else:
        recorder.emit_generators("end")
        if "phase" not in entry.address:
            emit_end(recorder)
    if event == "leave":
        recorder.generators.leave()
        recorder.places.leave(entry)


def emit_end(recorder: Recorder) -> None:
    """Write the state of the models as a step leaves it."""
    if not recorder.wanted("state"):
        return
    for model in recorder.models.trained():
        module = model.module
        if module is None:
            continue
        for kind, named in (("end.params", module.named_parameters()), ("end.buffers", module.named_buffers())):
            each = tensors(named)
            if each:
                recorder.emit(kind, model.label, h=digest(repr(each)), d=short(each))


def short(each: dict[str, str]) -> dict[str, str]:
    """Shorten digests that only tell which of many differ."""
    return {name: one[:8] for name, one in each.items()}
