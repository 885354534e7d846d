"""Recognise a Mersenne state that was seeded with a small number, also some draws later.

NumPy's legacy ``seed(int)`` fills the state by a recurrence, which shows, and gives the seed away. Python's does not:
there the numbers that people use are tried. A state that has been drawn from is turned back first: the generator's step
can be inverted.

Source: M. Matsumoto, T. Nishimura, Mersenne Twister, ACM TOMACS 8 (1998), and its reference code of 2002.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Sequence

WORDS = 624
_MASK = 0xFFFFFFFF
_MULTIPLIER = 1812433253
_INVERSE = pow(_MULTIPLIER, -1, 1 << 32)
BLOCKS = 4
"""How many times 624 words a generator may have drawn since it was seeded to be recognised."""

TRIED = (*range(1024), 1111, 1234, 1337, 2000, *range(2010, 2036), 3407, 4242, 12345, 31337, 54321, 123456, 1234567)
"""The seeds that are tried for Python's generator."""


def numpy_seed(key: Sequence[int], known: Sequence[int]) -> int | None:
    """Return the seed of a state that ``numpy.random.seed(int)`` made up to `BLOCKS` blocks ago.

    Args:
        key: the 624 words now.
        known: the words of a state that is accounted for: one that came from it was not seeded since.

    Returns:
        The seed in ``[0, 2**32)``; None if the state is not of this kind.
    """
    for words in _back(key, known):
        follows = all(_next(words[i - 1], i) == words[i] for i in range(2, WORDS))
        if follows:
            return _before(words[1])
    return None


def python_seed(key: Sequence[int], known: Sequence[int]) -> int | None:
    """Return which of `TRIED` a ``random.Random`` was seeded with up to `BLOCKS` blocks ago, or None."""
    for words in _back(key, known):
        seed = _python_states().get(hash(tuple(words[1:])))
        if seed is not None:
            return seed
    return None


def _back(key: Sequence[int], known: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield a state and those before it, unless they come from the known one."""
    states = [list(key)]
    for _ in range(BLOCKS):
        states.append(untwist(states[-1]))
    target = list(known)[1:]
    if not any(words[1:] == target for words in states):
        yield from states


def untwist(key: Sequence[int]) -> list[int]:
    """Return the 624 words that one regeneration ago were the state.

    Only the highest bit of the first word can be told, as only that bit has an effect.
    """
    words = list(key)
    for i in range(WORDS - 1, -1, -1):
        mixed = words[i] ^ words[(i + 397) % WORDS]
        high = ((mixed ^ 0x9908B0DF) if mixed & 0x80000000 else mixed) << 1 & 0x80000000
        mixed = words[i - 1] ^ words[(i + 396) % WORDS]
        odd = bool(mixed & 0x80000000)
        low = ((mixed ^ 0x9908B0DF) if odd else mixed) << 1 & 0x7FFFFFFF
        words[i] = high | low | odd
    return words


def _next(word: int, index: int) -> int:
    return (_MULTIPLIER * (word ^ word >> 30) + index) & _MASK


def _before(word: int) -> int:
    """Return the word of index 0 from that of index 1."""
    mixed = (word - 1) * _INVERSE & _MASK
    return mixed ^ mixed >> 30


@functools.cache
def _python_states() -> dict[int, int]:
    return {hash(random.Random(seed).getstate()[1][1:WORDS]): seed for seed in TRIED}
