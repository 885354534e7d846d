"""What an object is made of: digests of the plain values, arrays and tensors in its attributes, order included.

So "the same files in another order" and "another file" can be told apart. No item of a dataset is asked for: that
would run the user's code, and draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from reproseed.trace.fingerprint import digest, kind_of, order_free, value_digest

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_DEPTH = 5
_ITEMS = 200_000
_BYTES = 1 << 28
_LISTS = (list, tuple, set, frozenset, range)
_CLOSED = (FunctionType, BuiltinFunctionType, MethodType, ModuleType, type)


def contents(thing: Any) -> tuple[dict[str, list[str]], int | None]:
    """Return for each attribute that can be read ``[kind, digest, digest free of order]``, and the length."""
    found: dict[str, list[str]] = {}
    _walk(thing, "", _DEPTH, found, set())
    try:
        size: int | None = len(thing)
    except (TypeError, NotImplementedError):
        size = None
    return found, size


def plain_attributes(thing: Any) -> dict[str, str]:
    """Return the public plain attributes of an object as text, and digests of its arrays and lists."""
    found = {}
    for name, value in _attributes(thing).items():
        if isinstance(value, _PLAIN):
            found[name] = repr(value)
        elif _is_array(value) or isinstance(value, (list, tuple)):
            summary = _summary(value)
            if summary is not None:
                found[name] = f"{summary[0]} {summary[1]}"
    return found


def _walk(thing: Any, path: str, depth: int, found: dict[str, list[str]], seen: set[int]) -> None:
    if depth == 0 or id(thing) in seen:
        return
    seen.add(id(thing))
    for name, value in _attributes(thing).items():
        here = f"{path}.{name}" if path else name
        summary = _summary(value)
        if summary is not None:
            found[here] = summary
        elif isinstance(value, (list, tuple)) and len(value) <= 64:
            for number, item in enumerate(value):
                _walk(item, f"{here}[{number}]", depth - 1, found, seen)
        elif not isinstance(value, _CLOSED) and hasattr(value, "__dict__"):
            _walk(value, here, depth - 1, found, seen)


def _attributes(thing: Any) -> dict[str, Any]:
    values = getattr(thing, "__dict__", None)
    return {k: v for k, v in values.items() if isinstance(k, str)} if isinstance(values, dict) else {}


def _summary(value: Any) -> list[str] | None:
    """Return kind, digest, and digest free of order; None for what has no plain content."""
    if isinstance(value, _PLAIN):
        one = value_digest(value)[:12]
        return [type(value).__name__, one, one]
    if _is_array(value):
        if value.nbytes > _BYTES:
            return [kind_of(value), "too large", "too large"]
        return [kind_of(value), value_digest(value)[:12], _rows_free(value)]
    if isinstance(value, Mapping):
        return (
            None
            if not _all_plain(value.values())
            else _listed(f"mapping of {len(value)}", [f"{k!r}:{v!r}" for k, v in value.items()])
        )
    if isinstance(value, _LISTS) and len(value) <= _ITEMS:
        if _all_plain(value):
            kinds = {type(item).__name__ for item in value}
            of = kinds.pop() if len(kinds) == 1 else "item"
            return _listed(f"{_kind(value)} {of}", [repr(item) for item in value])
        if value and all(_is_array(item) or isinstance(item, _PLAIN) for item in value):
            return _listed(_kind(value), [value_digest(item) for item in value])
        rows: list[Any] = [item for item in value if isinstance(item, (list, tuple)) and len(item) < 16]
        if value and len(rows) == len(value):
            inner = [[_summary(part) for part in row] for row in rows]
            if all(part is not None for item in inner for part in item):
                return _listed(_kind(value), [repr(item) for item in inner])
    return None


def _listed(kind: str, texts: list[str]) -> list[str]:
    return [kind, digest("\0".join(texts))[:12], order_free(texts)[:12]]


def _kind(value: Any) -> str:
    return f"{type(value).__name__} of {len(value)}"


def _rows_free(value: Any) -> str:
    if not value.shape or value.shape[0] > _ITEMS:
        return ""
    from reproseed.trace.fingerprint import sample_digests

    return order_free(sample_digests(value, _ITEMS))[:12]


def _all_plain(values: Any) -> bool:
    return all(isinstance(value, _PLAIN) for value in values)


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape") and hasattr(value, "nbytes")
