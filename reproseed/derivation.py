"""Turn (master seed, address, label) into the bytes of one stream. Pure, versioned, frozen.

Derivation 1: the message is the ASCII bytes ``reproseed/1``, a zero byte, the master seed as 8 bytes, the
number of coordinates as 2 bytes, the coordinates sorted by name (see `address`), then the stream's label with
2 bytes of length before it; all integers little-endian. The stream is SHAKE-128 of the message (FIPS 202, from
`hashlib`), as many bytes as are wanted.

No other module does arithmetic on seeds. Answers are frozen in ``tests/golden/derivation-1.json``; a change of
any of them is a new version beside this one.
"""

from __future__ import annotations

import functools
import hashlib
import secrets
from collections.abc import Callable, Mapping

from reproseed.address import Address, Value, as_int, encode_coordinate
from reproseed.errors import CoordinateValueError, SeedRangeError

Derive = Callable[[int, Address, str, int], bytes]
Fan = Callable[[int, Address, str, str], Callable[[Value, int], bytes]]


def check_master_seed(value: object, name: str = "master_seed") -> int:
    """Return a master seed as a plain ``int``, or raise naming the argument and the range."""
    if type(value) is not int:
        value = as_int(name, value, "an int in [0, 2**64) is wanted")
    if not 0 <= value < 2**64:
        raise SeedRangeError(f"{name}={value} is out of range; allowed are integers in [0, 2**64).")
    return value


def draw_master_seed() -> int:
    """Draw a master seed from the operating system, in ``[0, 2**63)``.

    63 bits, so that it passes through ``--seed`` options and logs that know signed integers only.
    """
    return secrets.randbits(63)


def derive_1(master_seed: int, address: Address, label: str, length: int) -> bytes:
    """Return ``length`` bytes of a stream by derivation 1.

    >>> derive_1(0, Address(), "python", 4) == derive_1(0, Address(), "numpy", 4)
    False
    """
    message = b"reproseed/1\0" + master_seed.to_bytes(8, "little") + address.encoded + _encode_label(label)
    return hashlib.shake_128(message).digest(length)


@functools.lru_cache(maxsize=1024)
def _encode_label(label: str) -> bytes:
    name = label.encode("utf-8")
    if len(name) >= 2**16:
        raise CoordinateValueError(f"the stream's label {label[:40]!r}... has {len(name)} bytes; at most 65,535 fit.")
    return len(name).to_bytes(2, "little") + name


DERIVATIONS: Mapping[int, Derive] = {1: derive_1}


def fan_1(master_seed: int, address: Address, name: str, label: str) -> Callable[[Value, int], bytes]:
    """Return derivation 1 of the addresses that differ in one coordinate: a function of its value and a length.

    What the messages share is encoded once, so that a stream per sample costs about 1 microsecond.

    >>> stream = fan_1(0, Address(task="train"), "sample", "python")
    >>> stream(7, 4) == derive_1(0, Address(task="train", sample=7), "python", 4)
    True
    """
    rest = {n: value for n, value in address.items() if n != name}
    count = (len(rest) + 1).to_bytes(2, "little")
    before = b"".join(encode_coordinate(n, value) for n, value in rest.items() if n < name)
    after = b"".join(encode_coordinate(n, value) for n, value in rest.items() if n > name)
    head = b"reproseed/1\0" + master_seed.to_bytes(8, "little") + count + before
    tail = after + _encode_label(label)
    head_of_int = head + encode_coordinate(name, 0)[:-8]
    shake = hashlib.shake_128

    def stream(value: Value, length: int) -> bytes:
        if type(value) is int:
            return shake(head_of_int + value.to_bytes(8, "little", signed=True) + tail).digest(length)
        return shake(head + encode_coordinate(name, value) + tail).digest(length)

    return stream


FANS: Mapping[int, Fan] = {1: fan_1}


def check_derivation(version: object) -> int:
    """Return a derivation's version number, or raise naming those that exist."""
    number = as_int("derivation", version, f"one of {sorted(DERIVATIONS)} is wanted")
    if number not in DERIVATIONS:
        raise CoordinateValueError(
            f"derivation={number} is not known to this version of reproseed; it has {sorted(DERIVATIONS)}."
        )
    return number
