"""Follow a Mersenne generator: on which stream it is, and how many words it has given.

A state is 624 words, the key, and an index; the next key is a function of this one. So "drew 17 words more" and
"somebody reseeded" can be told apart: from a known key, keys are stepped forwards until the present one comes up, or
none does. Positions count words since the stream's anchor, the key with which it was first seen or seeded.

Source: Matsumoto and Nishimura, "Mersenne Twister" (1998); NumPy's MT19937 does the stepping.
"""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from typing import Any, NamedTuple

from reproseed import mersenne
from reproseed.trace.fingerprint import digest

# Keys stepped through in the search for a state, 624 words each: first what is near, in all streams, then far. torch
# says by itself that it was reseeded, and layers draw much: there it is worth to go farther.
_ROUNDS = (4, 256, 4_000)
_FAR = 20_000
_STREAMS = 256
# Keys passed at once: few where the state is near, then as many as stay in a cache.
_CHUNK = (4, 64)


class State(NamedTuple):
    """A Mersenne state: key, words given of it, what is cached besides, and the seed where the library keeps it."""

    key: bytes
    used: int
    cached: str = ""
    seed: int | None = None


class Position(NamedTuple):
    """Where a generator stands.

    Attributes:
        stream: digest of the anchor's key.
        words: words given since the anchor.
        back: words by which it stands before where it was seen last on this stream; 0 if it does not.
        found: False if the state could not be reached from any known one: somebody seeded.
    """

    stream: str
    words: int
    back: int
    found: bool


class _Stream:
    def __init__(self, name: str, key: bytes) -> None:
        self.name = name
        self.start = key
        self.last, self.block = key, 0
        self.words: int | None = None
        self.blocks = {key: 0}


class Tracker:
    """Follows one generator over its states."""

    def __init__(self) -> None:
        self._streams: OrderedDict[str, _Stream] = OrderedDict()
        self._pins: list[str] = []
        self._here: _Stream | None = None
        self._seeds: set[int] = set()
        self.unexplained: bytes | None = None
        """The key of the last anchor, where it follows from no seed that is known."""

    def begin(self, state: State) -> Position:
        """Take notice that the generator was seeded: this state is an anchor."""
        if state.seed is not None:
            self._seeds.add(state.seed)
        return self._anchor(state)

    def pin(self) -> None:
        """Keep the present stream in mind until `unpin`: a scope was entered that may give it back."""
        self._pins.append("" if self._here is None else self._here.name)

    def unpin(self) -> None:
        """Undo the last `pin`."""
        name = self._pins.pop() if self._pins else ""
        if name in self._streams:
            self._streams.move_to_end(name)

    def locate(self, state: State) -> Position:
        """Return where a state stands, relative to all that was seen before."""
        for stream in reversed(self._streams.values()):
            if state.key in stream.blocks:
                return self._stand(stream, stream.blocks[state.key], state, True)
        if state.seed is None or state.seed in self._seeds:  # else torch says by itself that it was reseeded
            for limit in _ROUNDS if state.seed is None else (*_ROUNDS[:2], _FAR):
                for stream in self._near():
                    steps = steps_between(stream.last, state.key, limit)
                    if steps is not None:
                        return self._stand(stream, stream.block + steps, state, True)
            for stream in self._near():
                steps = steps_between(stream.start, state.key, _ROUNDS[1])
                if steps is not None:
                    return self._stand(stream, steps, state, True)
        return self._anchor_unknown(state)

    def _near(self) -> list[_Stream]:
        near = [self._here, *(self._streams.get(name) for name in reversed(self._pins[-2:]))]
        near += list(reversed(self._streams.values()))[:2]
        return list(dict.fromkeys(stream for stream in near if stream is not None))

    def _anchor_unknown(self, state: State) -> Position:
        """Count from torch's own seed where the state follows from it, else from here."""
        first = not self._streams
        if state.seed is not None:
            self._seeds.add(state.seed)
            seeded = seeded_key(state.seed)
            steps = None if seeded is None else 0 if seeded == state.key else steps_between(seeded, state.key, _FAR)
            if seeded is not None and steps is not None:
                stream = self._add(digest(seeded)[:12], seeded)
                return self._stand(stream, steps, state, first)
        self.unexplained = state.key
        return self._anchor(state)._replace(found=first)

    def _anchor(self, state: State) -> Position:
        stream = self._add(digest(state.key)[:12], state.key)
        return self._stand(stream, 0, state, True)

    def _add(self, name: str, key: bytes) -> _Stream:
        stream = _Stream(name, key)
        self._streams[name] = stream
        self._streams.move_to_end(name)
        for old in list(self._streams)[: max(0, len(self._streams) - _STREAMS)]:
            if old not in self._pins:
                del self._streams[old]
        return stream

    def _stand(self, stream: _Stream, block: int, state: State, found: bool) -> Position:
        words = (block - 1) * mersenne.WORDS + state.used
        back = 0 if stream.words is None else max(0, stream.words - words)
        stream.last, stream.block, stream.words = state.key, block, words
        if len(stream.blocks) < 100_000:
            stream.blocks[state.key] = block
        self._here = stream
        return Position(stream.name, words, back, found)


def steps_between(key: bytes, target: bytes, limit: int) -> int | None:
    """Return how many regenerations lead from one key to another, at most ``limit``; None if none of them does.

    Many keys are passed at once, by what they give out: tempering is a bijection of each word, so that two keys are
    equal exactly if their 624 outputs are.
    """
    import numpy as np

    if not mersenne.layout_matches():
        return None
    wanted = _at_key(target, 0).random_raw(mersenne.WORDS)
    bits = _at_key(key, mersenne.WORDS)
    done, size = 0, _CHUNK[0]
    while done < limit:
        size = min(size, limit - done)
        given = bits.random_raw(size * mersenne.WORDS).reshape(size, mersenne.WORDS)
        for place in np.flatnonzero(given[:, 0] == wanted[0]):
            if np.array_equal(given[place], wanted):
                return done + int(place) + 1
        done, size = done + size, min(2 * size, _CHUNK[1])
    return None


def _at_key(key: bytes, position: int) -> Any:
    import numpy as np

    bits: Any = np.random.MT19937(0)
    ctypes.memmove(bits.ctypes.state_address, key + position.to_bytes(4, "little"), mersenne.KEY_BYTES + 4)
    return bits


def seeded_key(seed: int) -> bytes | None:
    """Return the key that ``torch.manual_seed(seed)`` makes; it uses the seed's low 32 bits."""
    import numpy as np

    if mersenne.torch_template() is None:
        return None
    key: Any = np.random.RandomState(seed & 0xFFFFFFFF).get_state(legacy=False)
    return bytes(key["state"]["key"].astype("<u4").tobytes())
