"""Whole Mersenne Twister states, written into torch's, NumPy's and Python's generators and read back, fast.

torch keeps 32 bits of a seed on the CPU, and the ``get_state``/``set_state`` of NumPy and Python walk 624 Python
integers; here the words are the state itself. No layout is documented, so each is checked once a process against the
libraries' own public calls; where it does not match, the plain calls are used.

A torch state passes as ``bytes``: ``Generator.get_state`` gives a real CPU tensor even under FakeTensorMode,
functorch transforms and a default device, while making or viewing a tensor there fails. So the tensor that
`get_state` returns is also the buffer that `set_state` takes.

Source: M. Matsumoto, T. Nishimura, "Mersenne Twister" (1998), MT19937, as NumPy and ATen implement it.
"""

from __future__ import annotations

import ctypes
import functools
import random
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import torch

WORDS = 624
KEY_BYTES = WORDS * 4
# NumPy's state in memory: the key, then the position as a C int.
_RAW_BYTES = KEY_BYTES + 4
_END = WORDS.to_bytes(4, "little")

# torch's state: initial seed, left, seeded, next, 624 words of 8 bytes each, cached normals.
_TORCH_KEY = 24
_TORCH_KEY_END = _TORCH_KEY + 8 * WORDS


# --- torch ----------------------------------------------------------------------------------------------------


def torch_state(generator: torch.Generator) -> bytes:
    """Return the state of a generator of any device; no synchronisation, no tensor operation."""
    return tensor_bytes(generator.get_state())


def tensor_bytes(state: torch.Tensor) -> bytes:
    """Return the bytes of what ``get_state`` gave; no operation on the tensor."""
    return ctypes.string_at(state.data_ptr(), state.nbytes)


def set_torch_state(generator: torch.Generator, state: bytes) -> None:
    """Put back what `torch_state` returned.

    Raises:
        ValueError: the state has another size than this generator's, as one of another device has.
    """
    generator.set_state(torch_buffer(generator, state))


def torch_buffer(generator: torch.Generator, state: bytes) -> torch.Tensor:
    """Return a state as the tensor that ``set_state`` of this generator takes; the errors of `set_torch_state`."""
    buffer = generator.get_state()
    if buffer.nbytes != len(state):
        raise ValueError(f"a state of {len(state)} bytes for a generator whose state has {buffer.nbytes}")
    ctypes.memmove(buffer.data_ptr(), state, len(state))
    return buffer


@functools.cache
def torch_template() -> tuple[bytes, bytes] | None:
    """A CPU state's bytes between initial seed and words, and behind the words; None where the layout is unknown.

    ``manual_seed`` runs the same initialisation as NumPy's legacy seeding, so the words of two seeds must
    stand where they are expected, and nothing else may differ.
    """
    import numpy as np
    import torch

    templates = []
    for seed in (1, 4_000_000_007):
        state = torch_state(torch.Generator(device="cpu").manual_seed(seed))
        words = np.random.RandomState(seed).get_state(legacy=False)["state"]["key"]
        head, key, tail = (
            state[8:_TORCH_KEY],
            state[_TORCH_KEY:_TORCH_KEY_END],
            state[_TORCH_KEY_END:],
        )
        if state[:8] != seed.to_bytes(8, "little") or key != words.astype("<u8").tobytes():
            return None
        templates.append((head, tail))
    return templates[0] if templates[0] == templates[1] else None


@functools.cache
def _widener() -> Callable[[bytes], bytes]:
    """Return the function that makes words of 8 bytes of words of 4."""
    import numpy as np

    frombuffer, narrow, wide = np.frombuffer, np.dtype("<u4"), np.dtype("<u8")
    return lambda words: frombuffer(words, narrow).astype(wide).tobytes()


def full_torch_state(words: bytes, initial_seed: bytes) -> bytes | None:
    """Return a CPU state with 624 words of the stream, the next draw regenerating; None if unknown.

    Args:
        words: 2,496 bytes, little-endian 32-bit words.
        initial_seed: 8 bytes, which ``Generator.initial_seed()`` will return.
    """
    template = torch_template()
    if template is None:
        return None
    return b"".join((initial_seed, template[0], _widener()(words), template[1]))


# --- NumPy ----------------------------------------------------------------------------------------------------


class NumpyState(NamedTuple):
    """The state of a ``RandomState`` on an MT19937: key and position as they lie in memory, and the cached normal."""

    bit_generator: Any
    raw: bytes
    gauss: float | None


def numpy_state(random_state: np.random.RandomState) -> NumpyState:
    """Read the whole state of a ``RandomState`` on an MT19937, with the cached normal and the bit generator itself."""
    bit_generator = random_state._bit_generator
    guard = _guard(bit_generator)
    if guard is not None:
        with guard:
            address = bit_generator.ctypes.state_address
            raw = ctypes.string_at(address, _RAW_BYTES)
            if _stuck(raw):
                return _plain_state(random_state)
            # The cached normal is not in there. standard_normal either returns it and leaves the state alone, or
            # moves the state and caches the second of a pair, which the next call takes away.
            value = random_state.standard_normal()
            if ctypes.string_at(address, _RAW_BYTES) == raw:
                _set_plain(random_state, raw, value)
                return NumpyState(bit_generator, raw, value)
            random_state.standard_normal()
            ctypes.memmove(address, raw, _RAW_BYTES)
            return NumpyState(bit_generator, raw, None)
    return _plain_state(random_state)


def _stuck(raw: bytes) -> bool:
    """Whether the words after the first are zeros, which only a hand-made key has: a normal may never come from it.

    Of the first word the generator uses one bit alone, so a key of zeros behind it draws zeros for ever.
    """
    return raw.startswith(_ZEROS, 4)


_ZEROS = bytes(64)


def _plain_state(random_state: np.random.RandomState) -> NumpyState:
    plain = random_state.get_state(legacy=False)
    position = int(plain["state"]["pos"]).to_bytes(4, "little")
    raw = plain["state"]["key"].astype("<u4").tobytes() + position
    return NumpyState(random_state._bit_generator, raw, plain["gauss"] if plain["has_gauss"] else None)


def set_numpy_state(random_state: np.random.RandomState, state: NumpyState) -> None:
    """Put back what `numpy_state` returned; an MT19937 must be in place."""
    _write(random_state, state.raw, state.gauss)


def seed_numpy(random_state: np.random.RandomState, words: bytes) -> None:
    """Make 624 words of 32 bits the state of an MT19937, the next draw regenerating, no cached normal."""
    _write(random_state, words + _END, None)


def is_mersenne(bit_generator: object) -> bool:
    """Whether a bit generator is NumPy's MT19937, whose state this module knows."""
    return type(bit_generator) is _mt19937()


@functools.cache
def _mt19937() -> type:
    import numpy as np

    return np.random.MT19937


def _write(random_state: np.random.RandomState, raw: bytes, gauss: float | None) -> None:
    bit_generator = random_state._bit_generator
    guard = _guard(bit_generator) if gauss is None else None
    if guard is None:
        _set_plain(random_state, raw, gauss)
        return
    with guard:
        random_state.seed(0)  # clears the cached normal, which lies outside the state in memory
        ctypes.memmove(bit_generator.ctypes.state_address, raw, _RAW_BYTES)


def _set_plain(random_state: np.random.RandomState, raw: bytes, gauss: float | None) -> None:
    import numpy as np

    key = np.frombuffer(raw, dtype="<u4", count=WORDS).astype(np.uint32)
    position = int.from_bytes(raw[KEY_BYTES:], "little")
    cached = (0, 0.0) if gauss is None else (1, gauss)
    random_state.set_state(("MT19937", key, position, *cached))


def _guard(bit_generator: Any) -> AbstractContextManager[Any] | None:
    """What must be held while memory is copied; None where it may not be copied at all.

    NumPy before 2.4 has a plain lock, under which ``standard_normal`` waits for ever: there, nothing is held
    while the process has one thread, and the plain calls serve otherwise.
    """
    if not layout_matches():
        return None
    if type(bit_generator.lock) is _REENTRANT:
        return bit_generator.lock
    return _UNGUARDED if threading.active_count() == 1 else None


_UNGUARDED = nullcontext()
_REENTRANT = type(threading.RLock())


@functools.cache
def layout_matches() -> bool:
    """Whether NumPy's MT19937 lies in memory as 624 words and a position, checked through public calls."""
    import numpy as np

    random_state = np.random.RandomState(20_240_229)
    random_state.random_sample(5)
    state = random_state.get_state(legacy=False)["state"]
    raw = state["key"].astype("<u4").tobytes() + int(state["pos"]).to_bytes(4, "little")
    in_memory = ctypes.string_at(random_state._bit_generator.ctypes.state_address, _RAW_BYTES)
    return bool(in_memory == raw)


# --- Python ---------------------------------------------------------------------------------------------------


class PythonState(NamedTuple):
    """The state of a ``random.Random``: position and key as they lie in memory, and the cached normal."""

    raw: bytes
    gauss: float | None


# The C struct behind the object's head: the position as a C int, then the words.
_RawPython = ctypes.c_char * _RAW_BYTES
_HEAD = object.__basicsize__
_PYTHON_WORDS = struct.Struct(f"<{WORDS + 1}I")


def python_state(generator: random.Random) -> PythonState:
    """Read the whole state of a ``random.Random``."""
    if type(generator) is random.Random and python_layout_matches():
        return PythonState(_RawPython.from_address(id(generator) + _HEAD).raw, generator.gauss_next)  # type: ignore[attr-defined]  # an attribute that the stubs leave out
    _, (*words, position), gauss = generator.getstate()
    return PythonState(_PYTHON_WORDS.pack(position, *words), gauss)


def set_python_state(generator: random.Random, state: PythonState) -> None:
    """Put back what `python_state` returned."""
    if type(generator) is random.Random and python_layout_matches():
        # Unlike ctypes.memmove, this keeps the interpreter's lock: no other thread draws meanwhile.
        _RawPython.from_address(id(generator) + _HEAD).raw = state.raw
        generator.gauss_next = state.gauss  # type: ignore[attr-defined]  # as above
        return
    position, *words = _PYTHON_WORDS.unpack(state.raw)
    generator.setstate((3, (*words, position), state.gauss))


_seed = random.Random.__base__.seed  # type: ignore[union-attr]  # the C class below, whose `seed` takes an int


def seed_python(generator: random.Random, number: int) -> None:
    """Seed a ``random.Random`` with an int of any size, as its ``seed`` does."""
    if type(generator) is random.Random:
        _seed(generator, number)
        generator.gauss_next = None  # type: ignore[attr-defined]  # as above
    else:
        generator.seed(number)


@functools.cache
def python_layout_matches() -> bool:
    """Whether CPython keeps a ``random.Random`` as a position and 624 words, checked through public calls.

    Never where threads run without the interpreter's lock: there the copy would need the object's own.
    """
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    if random.Random.__basicsize__ < _HEAD + _RAW_BYTES:
        return False
    for draws in (0, 5):
        generator = random.Random(20_240_229)
        for _ in range(draws):
            generator.random()
        version, (*words, position), _ = generator.getstate()
        in_memory = _RawPython.from_address(id(generator) + _HEAD).raw
        if version != 3 or in_memory != _PYTHON_WORDS.pack(position, *words):
            return False
    return True
