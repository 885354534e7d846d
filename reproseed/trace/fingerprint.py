"""Fingerprints: equal bits, dtype and shape give equal digests, and nothing else does.

A tensor is hashed as its contiguous logical bytes, so that strides and padding do not count; -0.0 differs from 0.0, and
all NaN are one value, since their payload bits differ without meaning. Reading changes no state, draws nothing, and is
invisible to the user's dispatch modes.

Source of the hash: XXH3, 128 bits (xxhash.com).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from reproseed.trace.errors import TraceError

if TYPE_CHECKING:
    import numpy as np
    import torch

HASH = "xxh3-128"
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_SHORT = 8  # hex digits of a sample's digest


@functools.cache
def hasher() -> Callable[..., Any]:
    """Return the constructor of the hash.

    Raises:
        TraceError: xxhash is not installed; there is no weaker hash to fall back on.
    """
    try:
        import xxhash
    except ImportError:
        raise TraceError(
            'tracing hashes tensors with xxhash, which is not installed: pip install "reproseed[cli]".'
        ) from None
    return xxhash.xxh3_128


def digest(data: bytes | memoryview | str) -> str:
    """Return the digest of bytes, 32 hex digits."""
    return str(hasher()(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data).hexdigest())


def tensor_digest(tensor: torch.Tensor) -> str:
    """Return the digest of a tensor's logical bytes, dtype and shape.

    A tensor without data (meta, fake, inside a functorch transform) has the digest of its dtype and shape alone.
    """
    hashed = hasher()(kind_of(tensor).encode())
    for array in _arrays(tensor):
        hashed.update(_canonical(array))
    return str(hashed.hexdigest())


def kind_of(value: Any) -> str:
    """Return dtype and shape of a tensor or array, such as ``float32[2,3]``; else the name of the type."""
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        name = str(value.dtype).removeprefix("torch.")
        return f"{name}[{','.join(str(n) for n in value.shape)}]"
    return type(value).__name__


def array_digest(array: np.ndarray[Any, Any]) -> str:
    """Return the digest of an array; object arrays count by their elements' text."""
    import numpy as np

    if array.dtype.hasobject:
        return digest(kind_of(array) + repr(array.tolist()))
    hashed = hasher()(kind_of(array).encode())
    hashed.update(_canonical(np.ascontiguousarray(array)))
    return str(hashed.hexdigest())


def value_digest(value: Any) -> str:
    """Return the digest of a leaf: tensor, array, or plain value; of anything else its type alone."""
    import numpy as np
    import torch

    if isinstance(value, torch.Tensor):
        return tensor_digest(value)
    if isinstance(value, np.ndarray):
        return array_digest(value)
    if isinstance(value, float) and math.isnan(value):
        return digest("float nan")
    if isinstance(value, (*_PLAIN, np.generic)):
        return digest(f"{type(value).__name__} {value!r}")
    return digest(f"object {type(value).__qualname__}")


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the leaves of nested mappings, sequences, named tuples and dataclass-like objects, with their paths."""
    if isinstance(value, Mapping):
        for key in value:
            yield from leaves(value[key], f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from leaves(item, f"{path}[{number}]")
    elif hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        for name in value.__dataclass_fields__:
            yield from leaves(getattr(value, name), f"{path}.{name}")
    else:
        yield path, value


class Structure(NamedTuple):
    """The fingerprint of nested values: one digest, and the leaves' paths, dtypes and shapes as text."""

    digest: str
    shape: str


def structure_digest(value: Any) -> Structure:
    """Return digest and shape of nested values."""
    hashed = hasher()()
    shapes = []
    for path, leaf in leaves(value):
        hashed.update(f"{path}\0{value_digest(leaf)}\0".encode())
        shapes.append(f"{path}:{kind_of(leaf)}".removeprefix(":"))
    shape = " ".join(shapes)
    return Structure(str(hashed.hexdigest()), shape if len(shape) <= 400 else f"{shape[:360]}... {digest(shape)[:8]}")


def sample_digests(batch: Any, limit: int = 4096) -> list[str]:
    """Return one short digest a sample of a collated batch, in order; empty where it has no common first dimension."""
    columns: list[list[str]] = []
    for _, leaf in leaves(batch):
        rows = _rows(leaf)
        if rows is not None:
            columns.append(rows)
    if not columns or len({len(column) for column in columns}) != 1 or not 0 < len(columns[0]) <= limit:
        return []
    if len(columns) == 1:
        return columns[0]
    return [digest("".join(row))[:_SHORT] for row in zip(*columns, strict=True)]


def order_free(digests: Iterable[str]) -> str:
    """Return the digest of a multiset of digests."""
    return digest(" ".join(sorted(digests)))


def _rows(leaf: Any) -> list[str] | None:
    import numpy as np
    import torch

    if isinstance(leaf, torch.Tensor):
        arrays = _arrays(leaf) if leaf.dim() else []
        if len(arrays) != 1:
            return None
        count, data = leaf.shape[0], _bytes_of(arrays[0])
    elif isinstance(leaf, np.ndarray) and leaf.ndim and not leaf.dtype.hasobject:
        count, data = leaf.shape[0], _bytes_of(np.ascontiguousarray(leaf))
    else:
        return None
    size = len(data) // count if count else 0
    return [digest(data[i * size : (i + 1) * size])[:_SHORT] for i in range(count)]


def _bytes_of(array: np.ndarray[Any, Any]) -> memoryview:
    return memoryview(_canonical(array).data).cast("B") if array.size else memoryview(b"")


def _arrays(tensor: torch.Tensor) -> list[np.ndarray[Any, Any]]:
    """Return the tensor's data as flat arrays of bytes or numbers, without copying where it lies on the CPU."""
    import torch
    from torch.utils._python_dispatch import _disable_current_modes

    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return []
    with _disable_current_modes(), torch.no_grad():
        if hasattr(tensor, "to_local"):  # a DTensor
            tensor = tensor.to_local()
        if tensor.is_meta or type(tensor).__name__ in ("FakeTensor", "FunctionalTensor"):
            return []
        if tensor.layout is not torch.strided:
            return _sparse(tensor)
        if tensor.is_quantized:
            return [_flat(tensor.int_repr())]
        return [_flat(tensor)]


def _sparse(tensor: torch.Tensor) -> list[np.ndarray[Any, Any]]:
    import torch

    if tensor.layout is torch.sparse_coo:
        tensor = tensor.coalesce()
        return [_flat(tensor.indices()), _flat(tensor.values())]
    return [_flat(tensor.to_dense())]


def _flat(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    import torch

    tensor = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous().reshape(-1)
    if tensor.dtype in (torch.float32, torch.float64, torch.float16):
        return tensor.numpy()
    if tensor.is_complex():
        return torch.view_as_real(tensor).reshape(-1).numpy()
    if tensor.dtype is torch.bfloat16:
        bits = tensor.view(torch.int16).numpy()
        nan = (bits & 0x7FFF) > 0x7F80
        return _with(bits, nan, 0x7FC0) if nan.any() else bits
    return tensor.view(torch.uint8).numpy() if tensor.numel() else tensor.new_empty(0, dtype=torch.uint8).numpy()


def _canonical(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array with every NaN the same one."""
    import numpy as np

    if array.dtype.kind == "c":
        array = array.view(array.real.dtype)
    if array.dtype.kind == "f" and array.size and _may_hold_nan(array):
        nan = np.isnan(array)
        if nan.any():
            return _with(array, nan, np.nan)
    return array.view(np.uint8).reshape(-1) if array.dtype.kind in "mM" else array


def _may_hold_nan(array: np.ndarray[Any, Any]) -> bool:
    import numpy as np

    if array.dtype.itemsize not in (4, 8):
        return True
    flat = array.reshape(-1)
    with np.errstate(all="ignore"):  # one pass at memory speed; an overflow to infinity is no NaN
        return bool(np.isnan(np.dot(flat, flat)))


def _with(array: np.ndarray[Any, Any], where: np.ndarray[Any, Any], value: Any) -> np.ndarray[Any, Any]:
    copy: np.ndarray[Any, Any] = array.copy()
    copy[where] = value
    return copy
