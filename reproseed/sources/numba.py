"""Numba's generators: what ``random`` and ``numpy.random`` are inside compiled functions.

Two Mersenne Twisters of the calling thread, of which Python's own and NumPy's know nothing. Threads of a ``prange``
have their own, which Numba gives no access to. An entry point of the group ``reproseed.sources``, asked for once
``numba`` has been imported.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from reproseed import mersenne
from reproseed.errors import SourceError
from reproseed.sources.protocol import Plain, field
from reproseed.streams import Stream


class _State(ctypes.Structure):
    """``rnd_state_t`` of numba/_random.c."""

    _fields_ = (
        ("index", ctypes.c_int),
        ("words", ctypes.c_uint32 * mersenne.WORDS),
        ("has_gauss", ctypes.c_int),
        ("gauss", ctypes.c_double),
        ("is_initialized", ctypes.c_int),
    )


_SIZE = ctypes.sizeof(_State)


class NumbaSource:
    """The two generators of the calling thread, each with a whole state of the stream."""

    name = label = "numba"
    shared = False
    restorable = True

    def active(self) -> bool:
        """Return True: it is asked for only where Numba has been imported."""
        return True

    def seed(self, stream: Stream) -> None:
        """Make 624 words of the stream the state of each, the next draw regenerating, no cached normal."""
        raw = stream.bytes(2 * mersenne.KEY_BYTES)
        for number, state in enumerate(_states()):
            words = raw[number * mersenne.KEY_BYTES : (number + 1) * mersenne.KEY_BYTES]
            state.words[:] = [int.from_bytes(words[i : i + 4], "little") for i in range(0, len(words), 4)]
            state.index, state.has_gauss, state.gauss, state.is_initialized = mersenne.WORDS, 0, 0.0, 1

    def snapshot(self) -> tuple[bytes, ...]:
        """Return both states, with their cached normals."""
        return tuple(bytes(state) for state in _states())

    def restore(self, state: tuple[bytes, ...]) -> None:
        """Put both states back."""
        for present, saved in zip(_states(), state, strict=True):
            ctypes.memmove(ctypes.addressof(present), saved, _SIZE)

    def to_plain(self, state: tuple[bytes, ...]) -> Plain:
        """Return both states' bytes."""
        return {"python": state[0], "numpy": state[1]}

    def from_plain(self, plain: Plain) -> tuple[bytes, ...]:
        """Return the states again."""
        return tuple(field(plain, name, bytes, _SIZE) for name in ("python", "numpy"))


def _states() -> tuple[Any, Any]:
    """Return the calling thread's two states, where they lie in memory."""
    from numba import _helperlib  # type: ignore[import-not-found, import-untyped, unused-ignore]  # an optional library

    _check_layout()
    pointers = _helperlib.rnd_get_py_state_ptr(), _helperlib.rnd_get_np_state_ptr()
    return _State.from_address(pointers[0]), _State.from_address(pointers[1])


@functools.cache
def _check_layout() -> None:
    import numba  # type: ignore[import-not-found, import-untyped, unused-ignore]  # an optional library
    from numba import _helperlib

    pointer = _helperlib.rnd_get_np_state_ptr()
    index, words = _helperlib.rnd_get_state(pointer)
    state = _State.from_address(pointer)
    if state.index != index or list(state.words) != list(words) or state.is_initialized != 1:
        raise SourceError(
            f"Numba {numba.__version__} keeps its generators in a layout that is not known here, so they cannot be "
            "seeded; use another version of Numba, or do not draw in compiled functions."
        )
