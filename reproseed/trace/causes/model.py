"""Causes in the model: structure, parameters, buffers, modes, settings, kernels."""

from __future__ import annotations

from reproseed.trace.align import Pair
from reproseed.trace.divergence import Cause
from reproseed.trace.evidence import Evidence

_SHOWN = 4


def shape(e: Evidence) -> Cause | None:
    """What differs first has another shape or dtype, and the data's own rules do not apply."""
    a, b = e.first.field("shape")
    if a == b or e.first.kind in ("indices", "rng") or (e.first.kind == "batch" and e.of_loaders("loader")):
        return None
    return Cause("STRUCTURE", "certain", (f"{e.first.kind} of {e.first.name} is {a} in A and {b} in B",))


def structure(e: Evidence) -> Cause | None:
    """One run calls modules that the other does not."""
    until = e.match.pairs.index(e.first) if e.same_level else 0
    for number, pair in enumerate(e.match.pairs):
        if pair.kind == "output" and not pair.both and (number < until or pair.a is None) and e.same_level:
            run = "A" if pair.b is None else "B"
            return Cause("STRUCTURE", "certain", (f"only {run} calls {pair.name} there",))
    for pair in e.differing("settings"):
        a, b = pair.field("d")
        one_sided = [name for name in pair.changed_keys() if name not in a or name not in b]
        if one_sided:
            return Cause("STRUCTURE", "certain", (f"only one of the models has {', '.join(one_sided[:_SHOWN])}",))
    return None


def mode(e: Evidence) -> Cause | None:
    """A module is in training mode in one run and in evaluation mode in the other."""
    for pair in e.differing("mode"):
        a, b = pair.field("d")
        names = [name for name in pair.changed_keys() if name in a and name in b]
        if names:
            verb = "is" if len(names) == 1 else "are"
            modes = f"in {_mode(a[names[0]])} mode in A and {_mode(b[names[0]])} mode in B"
            told = f"{_list(pair, names)} {verb} {modes}"
            return Cause("MODE", "certain", (told,))
    return None


def module_config(e: Evidence) -> Cause | None:
    """A module is set otherwise."""
    for pair in e.differing("settings"):
        a, b = pair.field("d")
        names = [name for name in pair.changed_keys() if name in a and name in b]
        if names:
            told = [f"{pair.name}.{n} is {a[n]} in A and {b[n]} in B" for n in names[:_SHOWN]]
            return Cause("MODULE_CONFIG", "certain", tuple(told))
    return None


def params_at_start(e: Evidence) -> Cause | None:
    """Parameters differ as a model is called for the first time."""
    if e.seen_before(("params", "end.params"), e.first.name):
        return None
    told = [f"{_parts(e.first)} differ at the first call that both runs have"]
    if e.begins_later:
        told.append(f"{e.begins_later} begins later: its checkpoint may be of a run that differed before")
    return Cause("PARAMS_AT_START", "likely" if e.begins_later else "certain", tuple(told))


def params_edited(e: Evidence) -> Cause | None:
    """Parameters differ that were equal after the optimizer's last step."""
    if not e.seen_before(("params", "end.params"), e.first.name):
        return Cause("PARAMS_AT_START", "likely", (f"{_parts(e.first)} differ as they are first seen",))
    step = e.latest("step.params")
    told = [f"{_parts(e.first)} differ"]
    if step is not None and not step.differ:
        told.append(f"they were equal after the last step of {step.name}")
    return Cause("PARAMS_EDITED", "certain" if len(told) == 2 else "likely", tuple(told))


def buffers(e: Evidence) -> Cause | None:
    """Buffers differ, parameters do not."""
    told = [f"{_parts(e.first)} differ"]
    params = e.latest("end.params" if e.first.kind == "end.buffers" else "params", e.first.name)
    if params is not None and not params.differ:
        told.append(f"the parameters of {e.first.name} are equal")
    return Cause("BUFFERS", "certain" if len(told) == 2 else "likely", tuple(told))


def unregistered(e: Evidence) -> Cause | None:
    """A generator inside the model, which no scope reaches, stands elsewhere."""
    found = [p for p in e.differing("generator") if (p.a or {}).get("of") == "model" and not any(p.field("registered"))]
    if not found:
        return None
    told = [f"generator {p.name} stands elsewhere in B" for p in found[:_SHOWN]]
    return Cause("RNG_UNREGISTERED", "certain", tuple(told))


def kernel(e: Evidence) -> Cause | None:
    """Equal inputs, parameters and settings give another output."""
    told = [f"the output of {e.first.name} ({e.first.field('m')[0]}) differs"]
    equal = [k for k in ("input", "params", "buffers", "mode", "settings", "rng") if e.was_equal(k)]
    if equal:
        told.append(f"equal before it: {', '.join(equal)}")
    for pair in e.pairs("op"):
        if pair.differ:
            told.append(f"the first operation that differs is {pair.name}")
            break
    return Cause("FORWARD_KERNEL", "likely", tuple(told))


def _parts(pair: Pair) -> str:
    names = pair.changed_keys()
    total = len(pair.field("d")[0] or ())
    what = "buffers" if pair.kind.endswith("buffers") else "parameters"
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    return f"{len(names)} of {total} {what} of {pair.name} ({shown})"


def _list(pair: Pair, names: list[str]) -> str:
    shown = [f"{pair.name}.{name}" if name else pair.name for name in names[:_SHOWN]]
    return ", ".join(shown) + (", ..." if len(names) > _SHOWN else "")


def _mode(training: bool) -> str:
    return "training" if training else "evaluation"
