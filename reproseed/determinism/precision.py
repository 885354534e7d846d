"""The precision of float32 work (TF32, bfloat16) as one value: torch keeps it twice, in an old and in a new style.

The old style is ``set_float32_matmul_precision`` and ``allow_tf32``, the new one ``fp32_precision`` of a backend and an
operation, where ``"none"`` inherits: operation from backend, backend from the whole. Where only the new style was
written, getters of the old one raise, and so would whatever reads them in a scope. So the old style is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

_OPERATIONS = ("matmul", "conv", "rnn")
_BACKENDS = ("cuda", "mkldnn")
_WHOLE = ("generic", "all")

Key = tuple[str, str]

# The settings of the new style that agree with each value of the old one.
_MATMUL: tuple[dict[Key, str], ...] = (
    {("cuda", "matmul"): "ieee", ("mkldnn", "matmul"): "ieee"},
    {("cuda", "matmul"): "tf32", ("mkldnn", "matmul"): "tf32"},
    {("cuda", "matmul"): "tf32", ("mkldnn", "matmul"): "bf16"},
)
_CUDNN: tuple[dict[Key, str], ...] = tuple({("cuda", "conv"): v, ("cuda", "rnn"): v} for v in ("tf32", "ieee"))


class Precision(NamedTuple):
    """What can be read of the precision at one moment.

    Attributes:
        matmul: ``get_float32_matmul_precision()``, or None where it raises because the new style was used.
        cudnn: ``backends.cudnn.allow_tf32``, or None likewise.
        resolved: what holds by backend and operation; empty before torch 2.9.
    """

    matmul: str | None
    cudnn: bool | None
    resolved: tuple[tuple[Key, str], ...]


class Saved(NamedTuple):
    """What it takes to put a `Precision` back.

    Attributes:
        matmul: the old style's value, also where its getter raises.
        cudnn: likewise.
        own: the new style's values as they were set, ``"none"`` where they are inherited.
        resolved: what holds.
    """

    matmul: str
    cudnn: bool
    own: tuple[tuple[Key, str], ...]
    resolved: tuple[tuple[Key, str], ...]


def read() -> Precision:
    """Return the precision in force; changes nothing."""
    keys = [_WHOLE, *((backend, op) for backend in _BACKENDS for op in ("all", *_OPERATIONS))] if _new_style() else []
    return Precision(_matmul(), _cudnn(), tuple((key, _get(key)) for key in keys))


def save() -> Saved:
    """Return the precision in a form that `restore` can put back.

    Whether a part inherits can only be seen by moving what it would inherit from, for a moment; and an old value whose
    getter raises only by making the new ones agree with it.
    """
    now = read()
    own: dict[Key, str] = {}
    if now.resolved:
        values = dict(now.resolved)
        own[_WHOLE] = values[_WHOLE]
        for backend in _BACKENDS:
            whole = (backend, "all")
            own[whole] = "none" if _follows(whole, _WHOLE, own) else values[whole]
            for op in _OPERATIONS:
                own[backend, op] = "none" if _follows((backend, op), whole, own) else values[backend, op]
    matmul = now.matmul if now.matmul is not None else _behind(_matmul, _MATMUL, own)
    cudnn = now.cudnn if now.cudnn is not None else _behind(_cudnn, _CUDNN, own)
    return Saved(str(matmul), bool(cudnn), tuple(own.items()), now.resolved)


def write(tf32: bool) -> None:
    """Allow TF32 for matrix products and cuDNN, or ask for full float32 everywhere."""
    import torch

    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    torch.backends.cudnn.allow_tf32 = tf32
    if _new_style() and not tf32:
        # The old style says "none" where it forbids, which inherits what the whole allows.
        for key in ((backend, op) for backend in _BACKENDS for op in _OPERATIONS):
            if _get(key) not in ("none", "ieee"):
                _set(key, "ieee")


def restore(saved: Saved) -> None:
    """Put back what `save` returned.

    The old style first, then the parts of the new one. cuDNN's convolutions have a default that
    only a process has in which nobody set it: it comes back as an explicit value, equal until somebody changes
    ``torch.backends.fp32_precision``.
    """
    import torch

    torch.set_float32_matmul_precision(saved.matmul)
    torch.backends.cudnn.allow_tf32 = saved.cudnn
    for key, value in saved.own:
        _set(key, value)
    for key, value in saved.resolved:
        if _get(key) != value:
            _set(key, value)


def is_in_force(tf32: bool) -> bool:
    """Whether TF32 is allowed or forbidden as asked."""
    now = read()
    values = dict(now.resolved)
    if values:
        wanted = ("tf32",) if tf32 else ("none", "ieee")
        return all(values["cuda", op] in wanted for op in _OPERATIONS)
    return (now.matmul != "highest") is tf32 and now.cudnn is tf32


def _follows(key: Key, parent: Key, own: dict[Key, str]) -> bool:
    before = _get(key)
    _set(parent, "ieee" if before != "ieee" else "tf32")
    try:
        return _get(key) != before
    finally:
        _set(parent, own[parent])


def _behind(getter: Callable[[], Any], agreeing: tuple[dict[Key, str], ...], own: dict[Key, str]) -> Any:
    """Read an old value whose getter raises: one of these settings of the new style agrees with it."""
    for setting in agreeing:
        try:
            for key, value in setting.items():
                _set(key, value)
            found = getter()
        finally:
            for key in setting:
                _set(key, own[key])
        if found is not None:
            return found
    raise AssertionError("torch has a further value of float32 precision")


def _new_style() -> bool:
    import torch

    return hasattr(torch._C, "_get_fp32_precision_getter")


def _get(key: Key) -> str:
    import torch

    return str(torch._C._get_fp32_precision_getter(*key))


def _set(key: Key, value: str) -> None:
    import torch

    torch._C._set_fp32_precision_setter(*key, value)


def _matmul() -> str | None:
    import torch

    try:
        return str(torch.get_float32_matmul_precision())
    except RuntimeError:
        return None


def _cudnn() -> bool | None:
    import torch

    try:
        return bool(torch.backends.cudnn.allow_tf32)
    except RuntimeError:
        return None
