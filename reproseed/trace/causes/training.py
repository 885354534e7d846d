"""Causes between the model's output and its next parameters."""

from __future__ import annotations

from reproseed.trace.divergence import Cause
from reproseed.trace.evidence import Evidence

_SHOWN = 4


def loss(e: Evidence) -> Cause | None:
    """Equal outputs give another loss."""
    a, b = e.first.field("v")
    told = [f"the loss is {a} in A and {b} in B"]
    outputs = [p for p in e.until_first() if p.kind == "output" and p.both]
    if any(p.differ for p in outputs):
        return None
    told += [f"{len(outputs)} module outputs before it are equal"] if outputs else []
    return Cause("LOSS", "certain" if outputs else "likely", tuple(told))


def stale_gradients(e: Evidence) -> Cause | None:
    """The gradients differ before the backward pass adds to them."""
    if not e.first.name.endswith(" before"):
        return None
    a, b = (len(d or {}) for d in e.first.field("d"))
    told = f"before backward, A holds {a} gradients of {e.first.name.removesuffix(' before')} and B {b}"
    return Cause("GRAD_EDIT", "certain", (f"{told}: they were cleared, or changed, in one run alone",))


def backward(e: Evidence) -> Cause | None:
    """An equal loss gives other gradients."""
    if not e.was_equal("loss"):
        return None
    names = e.first.changed_keys()
    told = [f"{len(names)} gradients differ after backward ({', '.join(names[:_SHOWN])})", "the loss is equal"]
    for pair in e.pairs("op"):
        if pair.differ:
            told.append(f"the first operation that differs is {pair.name}")
            break
    return Cause("BACKWARD", "likely", tuple(told))


def grad_edit(e: Evidence) -> Cause | None:
    """Gradients are equal after backward and differ at the step."""
    names = e.first.changed_keys()
    told = [f"{len(names)} gradients differ as {e.first.name} steps ({', '.join(names[:_SHOWN])})"]
    after = e.latest("grads")
    if after is not None and not after.differ:
        told.append("they were equal after backward")
    return Cause("GRAD_EDIT", "certain" if len(told) == 2 else "likely", tuple(told))


def optimizer_state(e: Evidence) -> Cause | None:
    """The optimizer's state differs before its step."""
    for pair in e.differing("optimizer"):
        a, b = pair.field("count")
        counts = f"{a} entries in A, {b} in B" if a != b else f"{len(pair.changed_keys())} of {a} entries differ"
        return Cause("OPTIMIZER_STATE", "certain", (f"the state of {pair.name} before its step: {counts}",))
    return None


def hyperparams(e: Evidence) -> Cause | None:
    """The optimizer steps with other settings."""
    for pair in e.differing("hyper"):
        a, b = pair.field("groups")
        told = []
        for number, (one, other) in enumerate(zip(a, b, strict=False)):
            names = [n for n in dict.fromkeys([*one, *other]) if one.get(n) != other.get(n)]
            told += [
                f"{n} of group {number} of {pair.name} is {one.get(n)} in A and {other.get(n)} in B" for n in names
            ]
        told += [f"{pair.name} has {len(a)} groups in A and {len(b)} in B"] if len(a) != len(b) else []
        return Cause("HYPERPARAMS", "certain", tuple(told[:_SHOWN]))
    return None


def optimizer_step(e: Evidence) -> Cause | None:
    """Equal gradients, state and settings give other parameters."""
    names = e.first.changed_keys()
    told = [f"{len(names)} parameters differ after the step of {e.first.name} ({', '.join(names[:_SHOWN])})"]
    equal = [k for k in ("step.grads", "optimizer", "hyper") if e.was_equal(k)]
    told += [f"equal before it: {', '.join(equal)}"] if equal else []
    return Cause("OPTIMIZER_STEP", "likely", tuple(told))


def step_missing(e: Evidence) -> Cause | None:
    """One run alone stepped."""
    for pair in e.one_sided("step.params"):
        run = "A" if pair.b is None else "B"
        return Cause("OPTIMIZER_STEP", "certain", (f"only {run} made this step of {pair.name}",))
    return None
