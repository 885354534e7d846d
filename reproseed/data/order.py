"""The order of one epoch: position to index, by a stream of the epoch's address.

Up to `THRESHOLD` samples it is ``RandomState.permutation``, whose stream NumPy's policy freezes, on a whole Mersenne
state. Above, it is a permutation that is computed where it is asked for: a generalised Feistel network (J. Black,
P. Rogaway, "Ciphers with arbitrary finite domains", 2002) over a * b >= n with a and b near sqrt(n), whose rounds add a
mixed half to the other one modulo its size; the few numbers beyond n are walked on. Six rounds are
indistinguishable from a true shuffle in pairs of positions at lags 1, 2, 3 and 1000; small n are not, hence the
threshold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from reproseed import mersenne
from reproseed.data.drawing import Drawing
from reproseed.data.header import Header
from reproseed.data.workers import sources_in
from reproseed.errors import CoordinateValueError
from reproseed.streams import Stream

THRESHOLD = 2**20
ROUNDS = 6
BLOCK = 8192
LABEL = "sample.order"

Indices = npt.NDArray[np.int64]


class Order(Protocol):
    """An epoch's order."""

    def take(self, start: int, stop: int) -> Indices:
        """Return the indices at positions ``start`` to ``stop``, int64, of shape ``(stop - start,)``."""


class Listed:
    """An order that is held whole."""

    def __init__(self, indices: Indices) -> None:
        self.indices = indices

    def take(self, start: int, stop: int) -> Indices:
        """Return a slice."""
        return self.indices[start:stop]


class Sequential:
    """The order of the indices themselves."""

    def take(self, start: int, stop: int) -> Indices:
        """Return the positions."""
        return np.arange(start, stop, dtype=np.int64)


class Feistel:
    """A permutation of ``range(n)`` in memory that does not grow with n; blocks of 8192 positions are kept.

    Args:
        n: number of indices, at least 1.
        stream: gives two keys of 64 bits a round.
    """

    def __init__(self, n: int, stream: Stream) -> None:
        self.n = n
        self._a = math.isqrt(n - 1) + 1
        self._b = -(-n // self._a)
        self._keys = np.frombuffer(stream.bytes(16 * ROUNDS), dtype="<u8").astype(np.uint64).reshape(ROUNDS, 2)
        self._blocks: dict[int, Indices] = {}

    def take(self, start: int, stop: int) -> Indices:
        """Return the indices at a range of positions."""
        parts = []
        for block in range(start // BLOCK, -(-stop // BLOCK)):
            first = block * BLOCK
            parts.append(self._block(block)[max(start - first, 0) : stop - first])
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def _block(self, block: int) -> Indices:
        if block not in self._blocks:
            while len(self._blocks) > 1:
                del self._blocks[next(iter(self._blocks))]
            positions = np.arange(block * BLOCK, min((block + 1) * BLOCK, self.n), dtype=np.uint64)
            self._blocks[block] = self._permute(positions).astype(np.int64)
        return self._blocks[block]

    def _permute(self, x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        x = self._rounds(x)
        beyond = np.flatnonzero(x >= self.n)
        while beyond.size:
            x[beyond] = self._rounds(x[beyond])
            beyond = beyond[x[beyond] >= self.n]
        return x

    def _rounds(self, x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        a, b = np.uint64(self._a), np.uint64(self._b)
        left, right = x // b, x % b
        for number, (first, second) in enumerate(self._keys):
            if number % 2 == 0:
                left = (left + _mix(right, first, second) % a) % a
            else:
                right = (right + _mix(left, first, second) % b) % b
        paired: npt.NDArray[np.uint64] = left * b + right
        return paired


def _mix(x: npt.NDArray[np.uint64], first: np.uint64, second: np.uint64) -> npt.NDArray[np.uint64]:
    """Return the finalizer of SplitMix64 (G. Steele and others, 2014) with two keys; it wraps modulo 2**64."""
    z = x * np.uint64(0x9E3779B97F4A7C15) + first
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27)) ^ second) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return mixed


def permutation(n: int, stream: Stream) -> Order:
    """Return a random order of ``range(n)``: a whole shuffle up to 2**20, computed position by position above.

    >>> from reproseed.address import Address
    >>> sorted(permutation(5, Stream(1, Address(), "sample.order")).take(0, 5).tolist())
    [0, 1, 2, 3, 4]
    """
    if n > THRESHOLD:
        return Feistel(n, stream)
    shuffled = np.random.RandomState(np.random.MT19937(0))
    mersenne.seed_numpy(shuffled, stream.bytes(mersenne.KEY_BYTES))
    return Listed(shuffled.permutation(n).astype(np.int64))


def given_order(order: Any, header: Header, n: int, length: int) -> Order:
    """Return the order that the user gives: an array of indices, or a callable ``f(rng, n)`` that returns one.

    Args:
        order: the array, or the callable, which gets a ``numpy.random.Generator`` that is equal on all ranks.
        header: of the pass.
        n: number of samples.
        length: how many indices there must be.

    Raises:
        CoordinateValueError: another number of indices, or one that is out of range.
    """
    if callable(order):
        order = order(header.stream(LABEL).numpy_generator(), n)
    indices = np.asarray(order)
    if indices.ndim != 1 or len(indices) != length or (length and indices.dtype.kind not in "iu"):
        raise CoordinateValueError(
            f"order= gave {indices.dtype} values of shape {indices.shape}; {length} integer indices are expected "
            "(num_samples= says how many an epoch has, if not one for each sample)."
        )
    if length and not (int(indices.min()) >= 0 and int(indices.max()) < n):
        raise CoordinateValueError(
            f"order= gave indices from {indices.min()} to {indices.max()}; the data has samples 0 to {n - 1}."
        )
    return Listed(indices.astype(np.int64))


def drawn(sampler: Iterable[Any], header: Header) -> list[Any]:
    """Return what a sampler yields while the process's generators, and its own, stand at an address."""
    epoch = header.address.get("epoch")
    set_epoch: Callable[[int], None] | None = getattr(sampler, "set_epoch", None)
    if set_epoch is not None and isinstance(epoch, int):
        set_epoch(epoch)
    with Drawing(header, sources=sources_in(sampler, names=("sampler",)), label=LABEL) as drawing:
        drawing.at(header, 0)
        return list(sampler)
