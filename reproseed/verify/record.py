"""What a training script calls to report: `log_metric` and `final_state`.

Both do nothing unless the script runs under `verify`, `study` or `compare`, which name the files
to write in `REPROSEED_METRICS` and `REPROSEED_FINAL_STATE`. Nothing but the standard library is
imported, and no state is kept: each call opens, appends one line and closes, so that a process
that is killed loses nothing and forked children may report too.
"""

from __future__ import annotations

import json
import math
import os
import sys
from typing import Any

from reproseed.verify.errors import MetricsError

METRICS = "REPROSEED_METRICS"
FINAL_STATE = "REPROSEED_FINAL_STATE"
STATE_FORMAT = "reproseed.final_state/1"


def log_metric(name: str, value: Any, *, step: int | None = None, epoch: int | None = None) -> None:
    """Report one value of a metric, in full precision.

    Args:
        name: what it is, such as `loss` or `eval/accuracy`.
        value: a number, or a tensor or array of one element, of any dtype and device. Pass the
            tensor itself rather than `float(...)`: its dtype tells how fine its values can be.
        step: the step in the run or in the epoch, from 0.
        epoch: the epoch, from 0.

    Raises:
        MetricsError: the value is not one number (only when running under `verify`).

    >>> log_metric("loss", 0.25, step=0, epoch=0)  # writes nothing here
    """
    path = os.environ.get(METRICS)
    if not path:
        return
    number, dtype = _one_number(name, value)
    line: dict[str, Any] = {
        "step": None if step is None else int(step),
        "epoch": None if epoch is None else int(epoch),
        "name": str(name),
        "value": number if not isinstance(number, float) or math.isfinite(number) else repr(number),
        "dtype": dtype,
    }
    if _rank():
        line["rank"] = _rank()
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(line, allow_nan=False) + "\n")


def final_state(**named: Any) -> None:
    """Report the state in which the training ends, as fingerprints.

    Call it once at the end, with everything that a resumed run must have restored. A second call
    adds to the first, and replaces what has the same name.

    Args:
        **named: models, optimizers, schedulers, scalers and other objects with `state_dict()`,
            state dicts, tensors, arrays and plain values, each under a name of its own.

    Raises:
        FinalStateError: a value cannot be fingerprinted (only when running under `verify`).
        MissingPackageError: xxhash is not installed (only when running under `verify`).

    >>> final_state(weights=[0.5, 0.25])  # writes nothing here
    """
    path = os.environ.get(FINAL_STATE)
    if not path:
        return
    from reproseed.verify.fingerprints import HASH, fingerprint_state

    path += f".rank{_rank()}" if _rank() else ""
    entries: dict[str, Any] = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            entries = json.load(file)["entries"]
        replaced = tuple(f"{name}/" for name in named)
        entries = {k: v for k, v in entries.items() if not f"{k}/".startswith(replaced)}
    entries |= fingerprint_state(named)
    report = {
        "format": STATE_FORMAT,
        "hash": HASH,
        "environment": _environment(),
        "entries": entries,
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1, allow_nan=False)


def _one_number(name: str, value: Any) -> tuple[float | int, str]:
    dtype = str(getattr(value, "dtype", "")).removeprefix("torch.")
    try:
        number = value.item() if hasattr(value, "item") else value
    except (ValueError, RuntimeError):  # more than one element
        number = value
    if isinstance(number, bool):
        number = int(number)
    if not isinstance(number, (int, float)):
        shape = getattr(value, "shape", None)
        kind = type(value).__name__
        found = f"a {kind} of shape {tuple(shape)}" if shape is not None else f"{value!r}, a {kind}"
        raise MetricsError(
            f"logging the metric {name!r}: found {found}; expected one number, or a tensor or"
            " array of one element. Log its mean, or each element under a name of its own."
        )
    return number, dtype or ("float64" if isinstance(number, float) else "int64")


def _rank() -> int:
    """The launcher's rank: each rank reports under its own name."""
    text = os.environ.get("RANK", "0")
    return int(text) if text.isdigit() else 0


def _environment() -> dict[str, Any]:
    """What can make equal code give unequal bits, as far as this process knows it."""
    found: dict[str, Any] = {"python": ".".join(map(str, sys.version_info[:3]))}
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None:
        found["numpy"] = numpy.__version__
    if torch is not None:
        found["torch"] = str(torch.__version__)
        found["threads"] = torch.get_num_threads()
        found["cpu"] = torch.backends.cpu.get_cpu_capability()
        found["cuda"] = torch.version.cuda
    return found
