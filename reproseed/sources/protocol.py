"""What a source of randomness must offer, and the plain form its states take in a checkpoint."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from reproseed.errors import StateError
from reproseed.streams import Stream

Plain = dict[str, Any]
"""A state made of ints, strings, lists, dicts and ``bytes``; ``bytes`` become uint8 tensors in a checkpoint."""


@runtime_checkable
class Source(Protocol):
    """Something that holds generator state and that can be seeded, read and written.

    Attributes:
        name: its key in snapshots and checkpoints.
        label: the label of its streams, see `reproseed.derivation`.
        shared: whether its streams leave the rank out.
        restorable: whether `snapshot` and `restore` exist for it.
    """

    name: str
    label: str
    shared: bool
    restorable: bool

    def active(self) -> bool:
        """Whether it exists in this process now: a device initialised here, an object that is alive."""

    def seed(self, stream: Stream) -> None:
        """Put it at the start of a stream."""

    def snapshot(self) -> Any:
        """Return its state, a value that later draws do not change and that compares by ``==``."""

    def restore(self, state: Any) -> None:
        """Put back a state."""

    def to_plain(self, state: Any) -> Plain:
        """Return a state in plain types."""

    def from_plain(self, plain: Plain) -> Any:
        """Return the state again.

        Raises:
            StateError: it is damaged; the message names the part.
        """


def float_bits(value: float) -> int:
    """Return a float64 as the int of its bits: a decimal form would not bring every value back."""
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])


def bits_float(bits: int) -> float:
    """Return the float64 of these bits."""
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])


def field(plain: Mapping[str, Any], name: str, kind: type[Any], size: int | None = None) -> Any:
    """Return a field of a plain state, or raise naming it."""
    value: Any = plain.get(name)
    if not isinstance(value, kind) or (size is not None and len(value) != size):
        found = "nothing" if value is None else type(value).__name__
        if isinstance(value, (bytes, list)):
            found += f" of length {len(value)}"
        wanted = kind.__name__ + ("" if size is None else f" of length {size}")
        raise StateError(f"its field {name!r} holds {found}, where {wanted} is expected")
    return value
