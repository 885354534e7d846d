"""The generators of the process: what is read of them, and where each one stands.

Read are the libraries' own, the devices' that are initialised, and those that the run has registered. Reading goes
through the plain state calls and changes nothing.
"""

from __future__ import annotations

import array
import random
import struct
import sys
from typing import Any

from reproseed import mersenne, run
from reproseed.trace.fingerprint import digest
from reproseed.trace.mersenne_track import State, Tracker

_PHILOX_BYTES = 16
_TORCH_TAIL = struct.Struct("<dddi4xf?3x")


def state_of(generator: Any) -> State | str:
    """Return the state of a generator object, or a digest where it is no Mersenne twister.

    Args:
        generator: a ``random.Random``, ``torch.Generator``, NumPy ``RandomState`` or ``Generator``, or anything with
            ``getstate`` or ``get_state``.
    """
    if isinstance(generator, random.Random):
        return _python(generator)
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and isinstance(generator, torch.Generator):
        return _torch(mersenne.torch_state(generator))
    if numpy is not None and isinstance(generator, numpy.random.RandomState):
        if mersenne.is_mersenne(generator._bit_generator):
            return _numpy(generator)
        return digest(repr(generator.get_state(legacy=False)))
    if numpy is not None and isinstance(generator, numpy.random.Generator):
        return digest(repr(generator.bit_generator.state))
    for name in ("getstate", "get_state", "state_dict"):
        if hasattr(generator, name):
            return digest(repr(getattr(generator, name)()))
    return digest(type(generator).__qualname__)


def describe(generator: Any) -> dict[str, Any]:
    """Return what tells two generators apart: kind, digest of the state, and the initial seed where it is known."""
    state = state_of(generator)
    found: dict[str, Any] = {"kind": type(generator).__name__}
    if isinstance(state, State):
        found |= {"h": digest(state.key)[:12], "i": state.used}
        if state.seed is not None:
            found["seed"] = state.seed
    else:
        found["h"] = state[:12]
    return found


def _python(generator: random.Random) -> State | str:
    if type(generator) is random.Random:
        raw, normal = mersenne.python_state(generator)
        return State(raw[4:], int.from_bytes(raw[:4], "little"), "" if normal is None else repr(normal))
    try:
        version, words, gauss = generator.getstate()
    except NotImplementedError:  # SystemRandom has no state
        return digest("SystemRandom")
    if version != 3 or len(words) != mersenne.WORDS + 1:
        return digest(repr(words))
    key = array.array("I", words[:-1]).tobytes()
    return State(key, words[-1], "" if gauss is None else repr(gauss))


def _numpy(generator: Any) -> State:
    state = mersenne.numpy_state(generator)
    index = int.from_bytes(state.raw[mersenne.KEY_BYTES :], "little")
    return State(state.raw[: mersenne.KEY_BYTES], index, "" if state.gauss is None else repr(state.gauss))


def _torch(state: bytes) -> State | str:
    if mersenne.torch_template() is None or len(state) < 24 + 8 * mersenne.WORDS:
        return _philox(state)
    import numpy as np

    end = 24 + 8 * mersenne.WORDS
    left = int.from_bytes(state[8:12], "little", signed=True)
    key = np.frombuffer(state[24:end], dtype="<u8").astype("<u4").tobytes()
    x, y, rho, valid, single, single_valid = _TORCH_TAIL.unpack_from(state, end)
    cached = (repr((x, y, rho)) if valid else "") + (repr(single) if single_valid else "")
    return State(key, mersenne.WORDS + 1 - left, cached, int.from_bytes(state[:8], "little"))


def _philox(state: bytes) -> str:
    """Return seed and offset of a counter-based generator, as accelerators have it, in readable form."""
    if len(state) != _PHILOX_BYTES:
        return digest(state)
    seed, offset = struct.unpack("<QQ", state)
    return f"philox:{seed}:{offset}"


def read_all() -> dict[str, State | str]:
    """Return the state of every generator that this process has, by name."""
    states: dict[str, State | str] = {"python": _python(random._inst)}
    if "numpy" in sys.modules:
        import numpy as np

        states["numpy"] = state_of(np.random.mtrand._rand)
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "default_generator"):
        states["torch.cpu"] = _torch(mersenne.torch_state(torch.default_generator))
    if torch is not None and getattr(getattr(torch, "cuda", None), "is_initialized", bool)():
        for number, generator in enumerate(torch.cuda.default_generators):
            states[f"torch.cuda:{number}"] = _philox(mersenne.torch_state(generator))
    for name, generator in registered().items():
        states[name] = state_of(generator)
    return states


def registered() -> dict[str, Any]:
    """Return the generators that the run has registered and can read."""
    seeder = run._current
    if seeder is None:
        return {}
    objects = seeder.registry._objects
    return {name: s.generator for name, s in objects.items() if s.restorable and s.active()}


class Generators:
    """Follows all of them."""

    def __init__(self) -> None:
        self._trackers: dict[str, Tracker] = {}
        self.anchors: list[tuple[str, str, bytes]] = []
        """Name, stream and key of anchors that were not seen to be seeded, since the list was emptied last."""

    def seeded(self) -> dict[str, Any]:
        """Read them just after a scope has seeded them all."""
        return self._read(seeded=True)

    def read(self) -> dict[str, Any]:
        """Read them: for each ``[digest, stream, words, seed, note]``, or a digest alone."""
        return self._read(seeded=False)

    def enter(self) -> None:
        """Keep in mind where they stand: a scope opens."""
        for tracker in self._trackers.values():
            tracker.pin()

    def leave(self) -> None:
        """Undo the last `enter`."""
        for tracker in self._trackers.values():
            tracker.unpin()

    def _read(self, seeded: bool) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, state in read_all().items():
            if isinstance(state, str):
                found[name] = state
                continue
            tracker = self._trackers.setdefault(name, Tracker())
            position = tracker.begin(state) if seeded else tracker.locate(state)
            note = "" if position.found else "new"
            note = f"back {position.back}" if position.back else note
            one = digest(state.key + state.used.to_bytes(2, "little", signed=True) + state.cached.encode())[:12]
            found[name] = [one, position.stream, position.words, state.seed, note]
            if tracker.unexplained is not None:
                self.anchors.append((name, position.stream, tracker.unexplained))
                tracker.unexplained = None
        return found
