"""States of foreign objects in the plain types of a checkpoint, and back again, exactly.

Ints, strings, booleans, None and lists stand for themselves. Everything else becomes a dict whose first key says what
it was, so that a tuple comes back as a tuple, an int key as an int, and a float with all its bits.
"""

from __future__ import annotations

from typing import Any

from reproseed.errors import StateError
from reproseed.sources.protocol import bits_float, float_bits


def encode(value: Any) -> Any:
    """Write a state in plain types.

    Raises:
        StateError: it holds an object of a kind that a checkpoint does not take.
    """
    import numpy as np
    import torch

    if isinstance(value, torch.Tensor):
        raw = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        return {"tensor": raw.numpy().tobytes(), "dtype": str(value.dtype).split(".")[-1], "shape": list(value.shape)}
    if isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
        order = value.dtype.newbyteorder("<")
        raw_array = np.asarray(value).astype(order).tobytes()
        kind = "array" if isinstance(value, np.ndarray) else "scalar"
        return {kind: raw_array, "dtype": order.str, "shape": list(value.shape)}
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, float):
        return {"float": float_bits(value)}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": bytes(value)}
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    raise StateError(
        f"it holds a {type(value).__qualname__}; a checkpoint takes numbers, strings, bytes, lists, tuples, dicts, "
        "arrays and tensors"
    )


def decode(plain: Any) -> Any:
    """Read back what `encode` wrote.

    Raises:
        StateError: it is none of its forms.
    """
    if isinstance(plain, list):
        return [decode(item) for item in plain]
    if not isinstance(plain, dict):
        return plain
    kind = next((name for name in _READERS if name in plain), "")
    try:
        return _READERS[kind](plain)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StateError(f"it is no state that this library wrote: {error!r}") from error


def _tensor(plain: dict[str, Any]) -> Any:
    import torch

    dtype = getattr(torch, plain["dtype"])
    if not plain["tensor"]:
        return torch.empty(plain["shape"], dtype=dtype, device="cpu")
    return torch.frombuffer(bytearray(plain["tensor"]), dtype=dtype).reshape(plain["shape"])


def _array(plain: dict[str, Any]) -> Any:
    import numpy as np

    raw = np.frombuffer(plain["array"] if "array" in plain else plain["scalar"], dtype=plain["dtype"]).reshape(
        plain["shape"]
    )
    native = raw.astype(raw.dtype.newbyteorder("="))
    return native if "array" in plain else native[()]


_READERS = {
    "float": lambda plain: bits_float(plain["float"]),
    "bytes": lambda plain: bytes(plain["bytes"]),
    "tuple": lambda plain: tuple(decode(item) for item in plain["tuple"]),
    "dict": lambda plain: {decode(key): decode(item) for key, item in plain["dict"]},
    "tensor": _tensor,
    "array": _array,
    "scalar": _array,
}
