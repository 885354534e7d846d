"""NumPy's legacy global generator, whatever bit generator the user has put under it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

from reproseed import mersenne
from reproseed.errors import StateError
from reproseed.mersenne import NumpyState
from reproseed.sources.protocol import Plain, bits_float, field, float_bits
from reproseed.streams import Stream

if TYPE_CHECKING:
    import numpy as np


class NumpySource:
    """``np.random.seed`` and friends. Fetched anew at every use, since the bit generator may be swapped."""

    restorable = True
    shared = False

    def __init__(self) -> None:
        self.name = self.label = "numpy"

    def active(self) -> bool:
        """Return True: torch users have NumPy."""
        return True

    def seed(self, stream: Stream) -> None:
        """Make 624 words of the stream the state."""
        seed_random_state(_global(), stream)

    def snapshot(self) -> LegacyState:
        """Return the state, the cached normal and the bit generator itself."""
        return legacy_state(_global())

    def restore(self, state: LegacyState) -> None:
        """Put back a state, and the bit generator if the user has swapped it since."""
        random_state = _global()
        if state.bit_generator is not random_state._bit_generator:
            import numpy as np

            np.random.mtrand.set_bit_generator(state.bit_generator)
        set_legacy_state(random_state, state)

    def to_plain(self, state: LegacyState) -> Plain:
        """Return the bit generator's name and state in plain types."""
        return legacy_to_plain(state)

    def from_plain(self, plain: Plain) -> LegacyState:
        """Return a state for the present bit generator, or for a new one if the saved one was another kind."""
        return legacy_from_plain(plain, _global()._bit_generator)


class OtherState(NamedTuple):
    """The state of a ``RandomState`` on another bit generator than MT19937, arrays and floats as bytes and bits."""

    bit_generator: Any
    plain: Plain


LegacyState = NumpyState | OtherState


@functools.cache
def _global() -> np.random.RandomState:
    import numpy as np

    # The one object behind the functions of numpy.random, which has no public name of its own.
    return np.random.mtrand._rand  # it has no public name


def seed_random_state(random_state: np.random.RandomState, stream: Stream) -> None:
    """Seed a ``RandomState``: an MT19937 with a whole state, another kind through its own seeding."""
    if mersenne.is_mersenne(random_state._bit_generator):
        mersenne.seed_numpy(random_state, stream.bytes(mersenne.KEY_BYTES))
        return
    seed_bit_generator(random_state._bit_generator, stream)
    # Only set_state clears the cached normal.
    state = dict(random_state.get_state(legacy=False))
    random_state.set_state(state | {"has_gauss": 0, "gauss": 0.0})


def seed_bit_generator(bit_generator: Any, stream: Stream) -> None:
    """Give any bit generator the state that its class makes of 256 bits of the stream, in place."""
    bit_generator.state = type(bit_generator)(stream.seed(256)).state


def legacy_state(random_state: np.random.RandomState) -> LegacyState:
    """Read the state of a ``RandomState`` on any bit generator."""
    bit_generator = random_state._bit_generator
    if mersenne.is_mersenne(bit_generator):
        return mersenne.numpy_state(random_state)
    return OtherState(bit_generator, bit_state_to_plain(random_state.get_state(legacy=False)))


def set_legacy_state(random_state: np.random.RandomState, state: LegacyState) -> None:
    """Put back what `legacy_state` returned."""
    if isinstance(state, NumpyState):
        mersenne.set_numpy_state(random_state, state)
    else:
        random_state.set_state(bit_state_from_plain(state.plain))


def legacy_to_plain(state: LegacyState) -> Plain:
    """Write a legacy state in plain types."""
    if isinstance(state, OtherState):
        return {"other": state.plain}
    plain: Plain = {"mersenne": state.raw}
    if state.gauss is not None:
        plain["gauss"] = float_bits(state.gauss)
    return plain


def legacy_from_plain(plain: Plain, present: Any) -> LegacyState:
    """Read back what `legacy_to_plain` wrote, for ``present`` or for a new bit generator of the saved kind."""
    import numpy as np

    if "other" in plain:
        state = field(plain, "other", dict)
        return OtherState(_of_kind(str(state.get("bit_generator")), present), state)
    raw = field(plain, "mersenne", bytes, mersenne.KEY_BYTES + 4)
    if int.from_bytes(raw[mersenne.KEY_BYTES :], "little") > mersenne.WORDS:
        raise StateError("the position of its Mersenne state is beyond 624")
    gauss = bits_float(field(plain, "gauss", int)) if "gauss" in plain else None
    return NumpyState(present if mersenne.is_mersenne(present) else np.random.MT19937(), raw, gauss)


def _of_kind(name: str, present: Any) -> Any:
    import numpy as np

    if type(present).__name__ == name:
        return present
    kind = getattr(np.random, name, None)
    if not (isinstance(kind, type) and issubclass(kind, np.random.BitGenerator)):
        raise StateError(f"it was saved from the bit generator {name!r}, which NumPy {np.__version__} does not have")
    return kind()


def bit_state_to_plain(state: Any) -> Any:
    """Write a ``bit_generator.state`` in plain types: arrays as bytes with their dtype, floats as bits."""
    import numpy as np

    if isinstance(state, dict):
        return {key: bit_state_to_plain(value) for key, value in state.items()}
    if isinstance(state, np.ndarray):
        return {
            "dtype": state.dtype.newbyteorder("<").str,
            "bytes": state.astype(state.dtype.newbyteorder("<")).tobytes(),
        }
    if isinstance(state, float):
        return {"float": float_bits(state)}
    return str(state) if isinstance(state, str) else int(state)


def bit_state_from_plain(plain: Any) -> Any:
    """Read back what `bit_state_to_plain` wrote."""
    import numpy as np

    if not isinstance(plain, dict):
        return plain
    if plain.keys() == {"dtype", "bytes"}:
        return np.frombuffer(plain["bytes"], dtype=plain["dtype"]).astype(np.dtype(plain["dtype"]).newbyteorder("="))
    if plain.keys() == {"float"}:
        return bits_float(plain["float"])
    return {key: bit_state_from_plain(value) for key, value in plain.items()}
