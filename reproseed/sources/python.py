"""Python's ``random``: the module's hidden instance, and any ``random.Random``."""

from __future__ import annotations

import random
import struct
from typing import Any

from reproseed import mersenne
from reproseed.errors import StateError
from reproseed.mersenne import PythonState
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
        mersenne.seed_python(process_random(), int.from_bytes(stream.bytes(32), "little"))

    def snapshot(self) -> PythonState:
        """Return words, position and cached normal."""
        return mersenne.python_state(process_random())

    def restore(self, state: PythonState) -> None:
        """Put back a state."""
        mersenne.set_python_state(process_random(), state)

    def to_plain(self, state: PythonState) -> Plain:
        """Return the words as bytes, the position behind them, and the cached normal as bits."""
        return python_to_plain(state)

    def from_plain(self, plain: Plain) -> PythonState:
        """Return the state again; raise if it is none of a Mersenne Twister."""
        return python_from_plain(plain)


def process_random() -> random.Random:
    """Return the one object behind the module's functions, which has no public name of its own."""
    return random._inst


def python_to_plain(state: PythonState) -> Plain:
    """Write a state in the plain types that `random_to_plain` writes, too."""
    plain: Plain = {"version": 3, "words": state.raw[4:] + state.raw[:4]}
    return plain if state.gauss is None else plain | {"gauss": float_bits(state.gauss)}


def python_from_plain(plain: Plain) -> PythonState:
    """Read back what `python_to_plain` or `random_to_plain` wrote."""
    _, _, gauss = random_from_plain(plain)
    words: bytes = plain["words"]
    return PythonState(words[-4:] + words[:-4], gauss)


def random_to_plain(state: Any) -> Plain:
    """Write what ``getstate`` of a ``random.Random`` gives in plain types."""
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
