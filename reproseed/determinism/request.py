"""`deterministic(...)`: from the arguments of a call to the value wanted of each flag."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reproseed.determinism import environment
from reproseed.determinism.flags import TABLE, WORKSPACE
from reproseed.determinism.scope import Deterministic, Mode
from reproseed.errors import CoordinateTypeError

MODES = ("error", "warn", "off")
ATTENTIONS = ("flash", "efficient", "math", "cudnn")

_REDUCED = (
    "cuda.matmul.allow_fp16_reduced_precision_reduction",
    "cuda.matmul.allow_bf16_reduced_precision_reduction",
    "cuda.matmul.allow_fp16_accumulation",
    "sdp.math_reduced_precision",
)


def deterministic(
    mode: Mode = "error",
    *,
    benchmark: bool | None = None,
    cudnn: bool | None = None,
    fill: bool | None = None,
    tf32: bool | None = None,
    attention: str | Iterable[str] | None = None,
    reduced_precision: bool | None = None,
    threads: int | None = None,
    workspace: str | None = ":4096:8",
    flags: Mapping[str, Any] | None = None,
) -> Deterministic:
    """Return a scope in which torch computes the same bits each time, or says that it cannot.

    On exit every flag that it set is exactly as before. It is process-wide: other threads see it. A backward pass runs
    under the flags that hold when it runs, not when the forward ran: call it inside the scope, and see
    `Deterministic.covers_backward` for a part that is left out.

    ``"error"`` and ``"warn"`` turn on torch's deterministic algorithms (an operation without one raises, or warns),
    inductor's and cuDNN's and oneDNN's, turn cuDNN's benchmark off, fill fresh memory, and set
    ``CUBLAS_WORKSPACE_CONFIG`` where it is not set. ``"off"`` turns these off and leaves benchmark, fill and variable
    alone. Whatever else is None stays as it is. What it costs, and what replaces an operation:
    `reproseed.determinism.operations`.

    Args:
        mode: ``"error"``, ``"warn"`` or ``"off"``.
        benchmark: whether cuDNN may choose algorithms by timing them.
        cudnn: False turns cuDNN off altogether, as some recipes do; it costs much speed and is seldom needed.
        fill: whether fresh memory is filled, so that reading it too early shows. Costs a write of each new tensor.
        tf32: whether float32 products may run in TF32. TF32 repeats as well: it is a matter of precision.
        attention: which kernels ``scaled_dot_product_attention`` may use, of ``"flash"``, ``"efficient"``, ``"math"``
            and ``"cudnn"``. In mode ``"warn"`` the backward of ``"efficient"`` is not deterministic.
        reduced_precision: whether half-precision products may be summed in half precision.
        threads: number of threads inside an operation; another number gives other sums.
        workspace: value for ``CUBLAS_WORKSPACE_CONFIG``, ``":4096:8"`` or ``":16:8"``; None leaves it alone. An allowed
            value that is there already is kept.
        flags: any other flag of `reproseed.determinism.TABLE`, by name.

    Raises:
        CoordinateTypeError: an argument that is not allowed.
        DeterminismError: on entry in mode ``"error"``, if cuBLAS cannot be made deterministic any more. Nothing has
            been changed then. In mode ``"warn"`` a `DeterminismWarning` says the same.

    >>> import torch, reproseed as rs
    >>> with rs.deterministic():
    ...     torch.are_deterministic_algorithms_enabled()
    True
    >>> torch.are_deterministic_algorithms_enabled()
    False
    """
    if mode not in MODES:
        raise CoordinateTypeError(f"deterministic({mode!r}): allowed are 'error', 'warn' and 'off'.")
    on = mode != "off"
    wanted: dict[str, Any] = {
        "deterministic_algorithms": (on, mode == "warn"),
        "fill_uninitialized_memory": fill if fill is not None else True if on else None,
        "inductor.deterministic": on,
        "cudnn.deterministic": on,
        "cudnn.benchmark": benchmark if benchmark is not None else False if on else None,
        "mkldnn.deterministic": on,
        "cudnn.enabled": cudnn,
        "fp32_precision": tf32,
        "num_threads": threads,
        **_attention(attention),
        **dict.fromkeys(_REDUCED, reduced_precision),
        WORKSPACE: _workspace(workspace) if on else None,
    }
    wanted = {name: value for name, value in wanted.items() if value is not None}
    further = _known(flags or {})
    return Deterministic(mode, _in_order(wanted | further), frozenset(further))


def _in_order(wanted: dict[str, Any]) -> dict[str, Any]:
    return {name: wanted[name] for name in TABLE if name in wanted}


def _known(flags: Mapping[str, Any]) -> dict[str, Any]:
    for name in flags:
        if name not in TABLE:
            raise CoordinateTypeError(
                f"deterministic(flags=...): {name!r} is no flag of the table; known are {', '.join(TABLE)}."
            )
    return dict(flags)


def _workspace(value: str | None) -> str | None:
    if value is not None and value not in environment.WORKSPACES:
        allowed = " and ".join(map(repr, environment.WORKSPACES))
        raise CoordinateTypeError(f"deterministic(workspace={value!r}): allowed are {allowed}, and None to leave it.")
    return value


def _attention(attention: str | Iterable[str] | None) -> dict[str, bool]:
    if attention is None:
        return {}
    chosen = {attention} if isinstance(attention, str) else set(attention)
    if not chosen or not chosen <= set(ATTENTIONS):
        raise CoordinateTypeError(
            f"deterministic(attention={attention!r}): allowed are one or more of {', '.join(map(repr, ATTENTIONS))}."
        )
    return {f"sdp.{name}": name in chosen for name in ATTENTIONS}
