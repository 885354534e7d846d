"""A stream: the bytes of one consumer at one address, as seeds and generators of each library.

Drawing from a `Stream` never touches a generator of the process.
"""

from __future__ import annotations

import functools
import random
from typing import TYPE_CHECKING, Any

from reproseed import mersenne
from reproseed.address import Address, check_names, integer
from reproseed.derivation import DERIVATIONS
from reproseed.errors import NarrowSeedWarning, warn

if TYPE_CHECKING:
    import numpy as np
    import torch


@functools.cache
def _warn_narrow() -> None:
    warn(
        "the state of torch's CPU generator has an unknown layout in this version of torch; it is seeded with 64 bits, "
        "of which it uses 32. Streams stay reproducible, but two of 100,000 coincide more often than not.",
        NarrowSeedWarning,
    )


class Stream:
    """The randomness of one name at one address.

    A value: asking one stream twice for a generator gives two generators with equal draws. Use
    `at` for another stream a step, a trial, a sample.

    >>> stream = Stream(7, Address(task="train"), "stream:noise")
    >>> stream.python_random().random() == stream.python_random().random()
    True
    >>> stream.seed() == stream.at(trial=1).seed()
    False
    """

    __slots__ = ("address", "derivation", "label", "master_seed")

    def __init__(self, master_seed: int, address: Address, label: str, derivation: int = 1) -> None:
        self.master_seed = master_seed
        self.address = address
        self.label = label
        self.derivation = derivation

    def bytes(self, n: int) -> bytes:
        """Return the first ``n`` bytes of the stream.

        Raises:
            CoordinateTypeError: ``n`` is no integer.
            CoordinateValueError: ``n`` is negative.
        """
        if type(n) is not int or n < 0:
            n = integer("n", n)
        return DERIVATIONS[self.derivation](self.master_seed, self.address, self.label, n)

    def seed(self, bits: int = 32) -> int:
        """Return the stream's first ``bits`` bits as an int in ``[0, 2**bits)``.

        32 bits suit ``np.random.seed``; torch's CPU generator keeps 32 bits of any seed, so that among
        100,000 such seeds two coincide more often than not: prefer `torch_generator`.

        Raises:
            CoordinateValueError: ``bits`` below 1 or above 4096.
        """
        if type(bits) is not int or not 1 <= bits <= 4096:
            bits = integer("bits", bits, 1, 4097)
        number = int.from_bytes(self.bytes((bits + 7) // 8), "little")
        return number if bits % 8 == 0 else number & ((1 << bits) - 1)

    def at(self, **coordinates: Any) -> Stream:
        """Return the stream of the same name with coordinates added to its address."""
        check_names(coordinates, ("task", "epoch", "step"), "at()")
        return Stream(self.master_seed, self.address.extended(**coordinates), self.label, self.derivation)

    def torch_generator(self, device: str | torch.device = "cpu") -> torch.Generator:
        """Return a new ``torch.Generator``; on the CPU with a full Mersenne state, elsewhere from 64 bits."""
        import torch

        generator = torch.Generator(device=device)
        self.seed_torch(generator)
        return generator

    def seed_torch(self, generator: torch.Generator) -> None:
        """Put an existing ``torch.Generator`` at the stream's start, as `torch_generator` gives a new one."""
        if generator.device.type == "cpu":
            self.seed_torch_cpu(generator)
        else:
            generator.manual_seed(self.seed(64))

    def seed_torch_cpu(self, generator: torch.Generator) -> None:
        """Do the same with a generator that is known to be one of the CPU."""
        raw = self.bytes(mersenne.KEY_BYTES + 8)
        state = mersenne.full_torch_state(raw[: mersenne.KEY_BYTES], raw[mersenne.KEY_BYTES :])
        if state is not None:
            mersenne.set_torch_state(generator, state)
        else:
            _warn_narrow()
            generator.manual_seed(self.seed(64))

    def numpy_generator(self) -> np.random.Generator:
        """Return a new ``numpy.random.Generator`` on Philox, keyed with 128 bits of the stream.

        Philox takes the key as it is. A Mersenne Twister on the stream's words would draw the very words of
        `torch_generator`.
        """
        import numpy as np

        return np.random.Generator(np.random.Philox(key=self.seed(128)))

    def python_random(self) -> random.Random:
        """Return a new ``random.Random`` seeded with 256 bits of the stream."""
        return random.Random(self.seed(256))

    def jax_key(self) -> Any:
        """Return a new typed ``jax.random`` key (Threefry) made of the stream's first 64 bits; needs jax."""
        import jax  # type: ignore[import-not-found, import-untyped, unused-ignore]  # an optional library
        import numpy as np

        data = np.frombuffer(self.bytes(8), dtype="<u4").astype(np.uint32)
        return jax.random.wrap_key_data(data, impl="threefry2x32")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.master_seed, self.address, self.label, self.derivation

    def __repr__(self) -> str:
        return f"Stream({self.label!r} at {self.address}, master_seed={self.master_seed})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Stream, (self.master_seed, self.address, self.label, self.derivation)
