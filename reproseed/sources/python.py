"""Python's ``random``: the module's hidden instance, and any ``random.Random``."""

from __future__ import annotations

import random
import struct
from typing import Any

from reproseed.errors import StateError
from reproseed.sources.protocol import Plain, bits_float, field, float_bits
from reproseed.streams import Stream

_WORDS = 625  # the 624 words and the position


class PythonSource:
    """A ``random.Random``, seeded with 256 bits through its ``seed``."""

    restorable = True
    shared = False

    def __init__(self) -> None:
        self.name = self.label = "python"

    def active(self) -> bool:
        """Return True: every process has it."""
        return True

    def seed(self, stream: Stream) -> None:
        """Seed with 256 bits."""
        random.seed(stream.seed(256))  # reproseed: ignore[RS101] - the one place that may

    def snapshot(self) -> Any:
        """Return what ``random.getstate`` gives."""
        return random.getstate()

    def restore(self, state: Any) -> None:
        """Put back a state."""
        random.setstate(state)

    def to_plain(self, state: Any) -> Plain:
        """Return the words as bytes and the cached normal as bits."""
        return random_to_plain(state)

    def from_plain(self, plain: Plain) -> Any:
        """Return the tuple that ``random.setstate`` takes."""
        return random_from_plain(plain)


def random_to_plain(state: Any) -> Plain:
    """Write a ``random.Random`` state in plain types."""
    version, words, gauss = state
    plain: Plain = {"version": version, "words": struct.pack(f"<{_WORDS}I", *words)}
    if gauss is not None:
        plain["gauss"] = float_bits(gauss)
    return plain


def random_from_plain(plain: Plain) -> Any:
    """Read back what `random_to_plain` wrote."""
    version = field(plain, "version", int)
    words = struct.unpack(f"<{_WORDS}I", field(plain, "words", bytes, 4 * _WORDS))
    if version != 3 or words[-1] > _WORDS - 1:
        raise StateError(f"it has version {version} and position {words[-1]}; 3 and at most 624 are expected")
    gauss = bits_float(field(plain, "gauss", int)) if "gauss" in plain else None
    return version, words, gauss
