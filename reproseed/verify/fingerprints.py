"""Fingerprints of a training state: one per tensor, array or plain value, by its path.

The hash is xxh3-128 over dtype, shape and the contiguous logical bytes in C order, so that strides,
padding and the archive around a tensor do not matter, and -0.0 differs from 0.0. Beside the
hash, a few elements are kept: enough to tell a rounding difference from a lost buffer. Neither
torch nor NumPy is imported: objects of theirs are recognised when they arrive.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from reproseed.verify.errors import FinalStateError, MissingPackageError

HASH = "xxh3_128"
SAMPLED = 16

Fingerprint = dict[str, Any]


def fingerprint_state(named: Mapping[str, object]) -> dict[str, Fingerprint]:
    """Return the fingerprints of everything in `named`, by path such as `model/conv.weight`.

    Args:
        named: models, optimizers and whatever has `state_dict()`; state dicts, nested dicts,
            lists and tuples; tensors and arrays of any dtype and device; numbers, text, bytes,
            None.

    Raises:
        FinalStateError: a value is none of these; the message names its path and type.
        MissingPackageError: xxhash is not installed.
    """
    return {path: fingerprint(value, path) for path, value in leaves(named)}


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield (path, leaf) in the order of the containers."""
    if hasattr(value, "state_dict") and callable(value.state_dict) and not isinstance(value, type):
        value = value.state_dict()
    if isinstance(value, Mapping):
        items: Iterator[tuple[str, object]] = (
            (key if isinstance(key, str) else repr(key), item) for key, item in value.items()
        )
    elif isinstance(value, (list, tuple)) and not _is_shape(value):
        items = ((str(index), item) for index, item in enumerate(value))
    else:
        yield path, value
        return
    empty = True
    for key, item in items:
        empty = False
        yield from leaves(item, f"{path}/{key}" if path else key)
    if empty and path:
        # An optimizer that has lost its state differs from one that has some by this leaf too.
        yield path, "empty"


def is_array(value: object) -> bool:
    """Whether a value is a torch tensor or a NumPy array."""
    return _is_tensor(value) or _is_numpy(value, "ndarray")


def fingerprint(value: object, path: str = "value") -> Fingerprint:
    """Return hash, dtype, shape and a sample of elements of one leaf."""
    if _is_numpy(value, "generic"):
        value = value.item()  # type: ignore[attr-defined]  # a NumPy scalar, by the line above
    if _is_tensor(value):
        return _tensor(value)
    if _is_numpy(value, "ndarray"):
        return _array(value, path)
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, bytearray)):
        return _plain(value)
    if type(value).__module__ == "torch" and type(value).__name__ in {"dtype", "device", "Size"}:
        return _plain(repr(value))
    raise FinalStateError(
        f"the final state {path!r} is a {type(value).__module__}.{type(value).__qualname__};"
        " expected a tensor, an array, a number, text, bytes, None, a container of these, or an"
        " object with state_dict(). Pass the part of it that training changes."
    )


def _plain(value: object) -> Fingerprint:
    text = value.hex() if isinstance(value, float) else repr(value)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    kind = "float64" if isinstance(value, float) else type(value).__name__
    sample = [_number(value)] if is_number else []
    return {"hash": _digest(kind, (), text.encode()), "dtype": kind, "shape": [], "sample": sample}


def _tensor(tensor: Any) -> Fingerprint:
    import torch

    local = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    if local.layout is not torch.strided:
        local = local.to_dense()
    if local.is_quantized:
        local = local.int_repr()
    flat = local.detach().resolve_conj().resolve_neg().cpu().contiguous().reshape(-1)
    dtype, shape = str(tensor.dtype).removeprefix("torch."), list(tensor.shape)
    data = flat.view(torch.uint8).numpy()
    sample = [] if flat.is_complex() else [_number(flat[i].item()) for i in _spread(flat.numel())]
    return {"hash": _digest(dtype, shape, data), "dtype": dtype, "shape": shape, "sample": sample}


def _array(array: Any, path: str) -> Fingerprint:
    if array.dtype.hasobject:
        raise FinalStateError(
            f"the final state {path!r} is an array of Python objects, whose bytes are addresses;"
            " expected an array of numbers. Pass its elements as a list."
        )
    flat = array.reshape(-1).copy()
    dtype, shape = array.dtype.name, list(array.shape)
    numeric = array.dtype.kind in "iufb"
    sample = [_number(flat[i].item()) for i in _spread(flat.size)] if numeric else []
    data = flat.view("uint8") if flat.size else b""
    return {"hash": _digest(dtype, shape, data), "dtype": dtype, "shape": shape, "sample": sample}


def _spread(size: int) -> list[int]:
    """Return up to SAMPLED positions, evenly over [0, size)."""
    if size <= SAMPLED:
        return list(range(size))
    return [i * (size - 1) // (SAMPLED - 1) for i in range(SAMPLED)]


def _number(value: Any) -> float | int | str:
    """Return a number as JSON can hold it: NaN and infinities as text."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return repr(value)
    return int(value) if isinstance(value, bool) else value


def _digest(dtype: str, shape: Any, data: Any) -> str:
    try:
        from xxhash import xxh3_128
    except ModuleNotFoundError:
        raise MissingPackageError(
            "fingerprints need the package xxhash, which is not installed here;"
            " install it with `pip install 'reproseed[cli]'` or `pip install xxhash`."
        ) from None
    head = f"{dtype}\0{','.join(map(str, shape))}\0".encode()
    state = xxh3_128(head)
    state.update(data)
    return state.hexdigest()


def _is_tensor(value: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _is_numpy(value: object, name: str) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, getattr(numpy, name))


def _is_shape(value: object) -> bool:
    return type(value).__module__ == "torch" and type(value).__name__ == "Size"
