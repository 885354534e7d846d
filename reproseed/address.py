"""An address: the named coordinates of one place in a run, checked and encoded.

Pure: no torch, no NumPy, no state. Two addresses are equal exactly if their encodings are equal.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any

from reproseed.errors import CoordinateTypeError, CoordinateValueError

Value = int | str

# Names that the library itself gives meaning to, or that people write when they mean an argument.
RESERVED: Mapping[str, str] = {
    "seed": "did you mean master_seed=?",
    "master": "did you mean master_seed=?",
    "rank": "it is added by itself; shared=True leaves it out.",
    "local_rank": "the rank is added by itself; shared=True leaves it out.",
    "world_size": "no address holds the number of ranks.",
    "worker": "workers are seeded by the data loading.",
    "shard": "logical ranks belong to reproseed.elastic.",
    "phase": "steps() sets it.",
    "sample": "samples are addressed by SampleSeeded.",
    "name": "it names a stream or a loop.",
    "master_seed": "it is an argument of init() and seeded().",
    "shared": "it is an argument of seeded() and stream().",
    "restore": "it is an argument of seeded().",
}
_LOW, _HIGH = -(2**63), 2**63 - 1


def check_value(name: str, value: object) -> Value:
    """Return a coordinate's value as a plain ``int`` or ``str``, or raise naming it."""
    if type(value) is int:
        number = value
    elif isinstance(value, str):
        text = str.__str__(value)
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise CoordinateValueError(
                f"coordinate {name}={text!r} holds a lone surrogate; allowed is text that UTF-8 can encode."
            ) from None
        return text
    else:
        number = as_int(f"coordinate {name}", value, "allowed are an int or a str")
    if not _LOW <= number <= _HIGH:
        raise CoordinateValueError(
            f"coordinate {name}={number} is out of range; allowed are integers in [-2**63, 2**63)."
        )
    return number


def check_name(name: str, where: str = "") -> str:
    """Return a coordinate's name, or raise if it is no ASCII identifier of at most 65,535 letters."""
    if not (name.isascii() and name.isidentifier() and len(name) < 2**16):
        raise CoordinateTypeError(
            f"{where}coordinate name {name[:40]!r} is not an ASCII identifier such as 'fold' or 'trial'."
        )
    return name


def as_int(what: str, value: object, wanted: str) -> int:
    """Return anything integer-like (``__index__``) as a plain ``int``, of any size.

    Args:
        what: what the value is, for the message.
        value: an int, a NumPy integer, an integer tensor without a shape.
        wanted: what is allowed, for the message.

    Raises:
        CoordinateTypeError: a bool, None, something with a shape, or no integer.
    """
    kind = type(value).__name__
    if isinstance(value, bool) or str(getattr(value, "dtype", "")) in ("bool", "torch.bool"):
        raise CoordinateTypeError(f"{what}={value!r} is a bool; {wanted}.")
    if value is None:
        raise CoordinateTypeError(f"{what}=None has no value; {wanted}, or leave it out.")
    shape = tuple(getattr(value, "shape", ()))
    if shape:
        raise CoordinateTypeError(f"{what} is a {kind} of shape {shape}; {wanted}, so pass one element of it.")
    try:
        return int(operator.index(value))  # type: ignore[arg-type]  # refused just below where it has no __index__
    except (TypeError, RuntimeError):
        raise CoordinateTypeError(f"{what}={value!r} is a {kind}; {wanted}.") from None


def integer(name: str, value: object, low: int = 0, high: int | None = None) -> int:
    """Return an argument that counts something as a plain ``int`` in ``[low, high)``."""
    number = as_int(name, value, "an int is wanted")
    if number < low or (high is not None and number >= high):
        limit = "" if high is None else f" and below {high}"
        raise CoordinateValueError(f"{name}={number} is out of range; it must be at least {low}{limit}.")
    return number


def check_names(coordinates: Iterable[str], parameters: Iterable[str], what: str) -> None:
    """Refuse reserved names and misspelt parameters among a call's own coordinates.

    Args:
        coordinates: the names of the keyword arguments that are no parameter.
        parameters: the parameters of the call, which a misspelling may have meant.
        what: the call's name, for the message.

    Raises:
        CoordinateTypeError: with the right spelling.
    """
    known = tuple(parameters)
    for name in coordinates:
        if name in RESERVED:
            hint = RESERVED[name]
            if isinstance(coordinates, Mapping):
                hint = hint.replace("=?", f"={coordinates[name]!r}?")
            raise CoordinateTypeError(f"{what}: {name!r} is no coordinate; {hint}")
        for parameter in known:
            if _misspelt(name, parameter):
                raise CoordinateTypeError(
                    f"{what}: unknown coordinate {name!r}; did you mean {parameter!r}? "
                    "Choose another name for one of your own."
                )
        check_name(name, f"{what}: ")


def _misspelt(name: str, parameter: str) -> bool:
    """Whether one slip of the keyboard leads from one name to the other.

    Two neighbours swapped, or a letter too many or too few; another letter only in names of five and
    more, since ``mask`` is no misspelt ``task``.
    """
    if name == parameter:
        return False
    a, b = name.lower().replace("_", ""), parameter.lower().replace("_", "")
    if a == b:
        return True
    if len(a) == len(b):
        wrong = [i for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y]
        if len(wrong) == 1:
            return len(a) >= 5
        return (
            len(wrong) == 2 and wrong[1] == wrong[0] + 1 and a[wrong[0]] == b[wrong[1]] and a[wrong[1]] == b[wrong[0]]
        )
    long, short = (a, b) if len(a) > len(b) else (b, a)
    return len(long) == len(short) + 1 and any(long[:i] + long[i + 1 :] == short for i in range(len(long)))


class Address(Mapping[str, Value]):
    """Named coordinates inside a run: immutable, hashable, and independent of their order.

    Values are plain ``int`` in ``[-2**63, 2**63)`` or ``str``; ``1`` and ``"1"`` are two values, and a
    coordinate of 0 is not a coordinate left out.

    Args:
        **coordinates: any names that are ASCII identifiers.

    Raises:
        CoordinateTypeError: a value of another type.
        CoordinateValueError: an integer out of range, or text that UTF-8 cannot encode.

    >>> Address(task="train", epoch=3)
    Address(epoch=3, task='train')
    >>> Address(epoch=3, task="train") == Address(task="train", epoch=3)
    True
    """

    __slots__ = ("_encoded", "_items")
    _items: dict[str, Value]
    _encoded: bytes | None

    def __init__(self, **coordinates: Any) -> None:
        _fill(self, "_items", {check_name(name): check_value(name, coordinates[name]) for name in sorted(coordinates)})
        _fill(self, "_encoded", None)

    @property
    def encoded(self) -> bytes:
        """The coordinates as derivation 1 writes them: their number, then each one, sorted by name."""
        if self._encoded is None:
            parts = [encode_coordinate(name, value) for name, value in self._items.items()]
            _fill(self, "_encoded", len(parts).to_bytes(2, "little") + b"".join(parts))
        return self._encoded  # type: ignore[return-value]  # filled just above

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an Address is immutable; use .extended({name}=...) for a new one")

    def extended(self, **coordinates: Any) -> Address:
        """Return the address with coordinates added or replaced."""
        items = self._items.copy()
        for name, value in coordinates.items():
            items[check_name(name)] = value if type(value) is str and value.isascii() else check_value(name, value)
        return sorted_address(items)

    def joined(self, checked: Mapping[str, Value]) -> Address:
        """Return the address with coordinates added that have been checked before, as `extended` does at more cost."""
        return sorted_address({**self._items, **checked}) if checked else self

    def without(self, *names: str) -> Address:
        """Return the address with the named coordinates left out."""
        return sorted_address({name: value for name, value in self._items.items() if name not in names})

    def __getitem__(self, name: str) -> Value:
        return self._items[name]

    # The dict's own, several times as fast as those that Mapping builds on __getitem__.
    def __contains__(self, name: object) -> bool:
        return name in self._items

    def get(self, name: str, default: Any = None) -> Any:
        """Return a coordinate's value, or the default."""
        return self._items.get(name, default)

    def keys(self) -> KeysView[str]:
        """Return the names, in order."""
        return self._items.keys()

    def values(self) -> ValuesView[Value]:
        """Return the values, in the order of the names."""
        return self._items.values()

    def items(self) -> ItemsView[str, Value]:
        """Return names and values, in the order of the names."""
        return self._items.items()

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Address) and (self is other or self.encoded == other.encoded)

    def __hash__(self) -> int:
        return hash(self.encoded)

    def __repr__(self) -> str:
        return f"Address({self._text()})"

    def __str__(self) -> str:
        return f"({self._text()})" if self._items else "(the base stream)"

    def _text(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self._items.items())

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (dict(self._items),)


_fill = object.__setattr__  # past the guard that makes addresses immutable


def sorted_address(items: dict[str, Value]) -> Address:
    """Return the address of checked coordinates in any order."""
    new = object.__new__(Address)
    _fill(new, "_items", {name: items[name] for name in sorted(items)} if len(items) > 1 else items.copy())
    _fill(new, "_encoded", None)
    return new


def _rebuild(items: dict[str, Value]) -> Address:
    return Address(**items)


@functools.lru_cache(maxsize=4096, typed=True)
def encode_coordinate(name: str, value: Value) -> bytes:
    """Encode one coordinate, every field with a fixed width or its length before it.

    Remembered, since a run meets the same coordinates over and over.
    """
    raw = name.encode("ascii")
    head = len(raw).to_bytes(2, "little") + raw
    if isinstance(value, int):
        return head + b"i" + value.to_bytes(8, "little", signed=True)
    text = value.encode("utf-8")
    return head + b"s" + len(text).to_bytes(4, "little") + text
