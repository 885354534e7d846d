"""Generators that the user registers: one handler a form, chosen by a table.

    torch.Generator            whole state on the CPU, 64 bits on other devices
    numpy.random.Generator     256 bits through the bit generator's class; an MT19937 gets a whole state
    numpy.random.RandomState   as NumPy's global generator
    random.Random              256 bits
    objects with methods       ``seed``/``manual_seed`` (31 bits), with ``getstate``/``setstate``,
    ``get_state``/``set_state``
                               or ``state_dict``/``load_state_dict``
    DistributedSampler          ``set_epoch`` and a seed that all ranks share, whatever ``shared`` says
    callables ``f(seed: int)``  31 bits, fwr13y's form: can be seeded, not read

Each is its own stream by name. Functions, lambdas, partials and bound methods are held strongly, since nobody else
may hold them; other objects weakly where they can be, and a dead one is skipped.
"""

from __future__ import annotations

import copy
import functools
import inspect
import random
import types
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from reproseed import mersenne
from reproseed.errors import SourceError, StateError
from reproseed.sources.numpy import (
    bit_state_from_plain,
    bit_state_to_plain,
    legacy_from_plain,
    legacy_state,
    legacy_to_plain,
    seed_bit_generator,
    seed_random_state,
    set_legacy_state,
)
from reproseed.sources.plain import decode, encode
from reproseed.sources.protocol import Plain, field
from reproseed.sources.python import python_from_plain, python_to_plain, random_from_plain, random_to_plain
from reproseed.sources.torch_cpu import torch_from_plain
from reproseed.streams import Stream

NARROW_BITS = 31
"""Bits of the seed that callables and duck-typed objects get: positive in every signed 32-bit type."""


class Handler(NamedTuple):
    """How one form of generator is seeded, read, written, and put into plain types."""

    seed: Callable[[Any, Stream], None]
    snapshot: Callable[[Any], Any] | None = None
    restore: Callable[[Any, Any], None] | None = None
    to_plain: Callable[[Any], Plain] = lambda state: {"state": state}
    from_plain: Callable[[Plain, Any], Any] = lambda plain, _: field(plain, "state", object)


class ObjectSource:
    """One registered generator."""

    def __init__(self, generator: Any, name: str, shared: bool) -> None:
        self.handler = handler_of(generator)
        self.name = name
        self.label = f"generator:{name}"
        # Ranks that shuffle apart would not share the samples out.
        self.shared = shared or self.handler is _SAMPLER
        self.restorable = self.handler.snapshot is not None
        self._reference = _reference(generator)

    @property
    def generator(self) -> Any:
        """The registered object, or None if it is dead."""
        return self._reference()

    def active(self) -> bool:
        """Whether the object is alive."""
        return self._reference() is not None

    def seed(self, stream: Stream) -> None:
        """Put the object at the start of a stream, in place."""
        generator = self._reference()
        if generator is not None:
            self.handler.seed(generator, stream)

    def snapshot(self) -> Any:
        """Return the object's state; None if it has died."""
        generator = self._reference()
        return None if generator is None else self.handler.snapshot(generator)  # type: ignore[misc]  # restorable

    def restore(self, state: Any) -> None:
        """Put back a state, in place."""
        generator = self._reference()
        if generator is not None:
            self.handler.restore(generator, state)  # type: ignore[misc]  # restorable

    def to_plain(self, state: Any) -> Plain:
        """Return a state in plain types.

        Raises:
            StateError: a duck-typed object's own state holds what a checkpoint does not take.
        """
        try:
            return self.handler.to_plain(state)
        except StateError as error:
            raise StateError(f"the state of {self.name!r} cannot be saved: {error}.") from None

    def from_plain(self, plain: Plain) -> Any:
        """Return the state again."""
        return self.handler.from_plain(plain, self._reference())


def handler_of(generator: Any) -> Handler:
    """Return the handler for an object.

    Raises:
        SourceError: it is none of the forms; the message lists them.
    """
    import numpy as np
    import torch
    import torch.utils.data.distributed

    if inspect.isclass(generator):
        raise SourceError(f"register an object, not the class {generator.__name__}: a class has no state of its own.")
    if isinstance(generator, types.ModuleType) or any(generator is one for one in _seed_functions()):
        name = getattr(generator, "__name__", repr(generator))
        raise SourceError(
            f"{name} seeds a generator of the process, which scopes reach anyhow: register generators of your own."
        )
    if isinstance(generator, random.SystemRandom):
        raise SourceError(
            "random.SystemRandom draws from the operating system and cannot be seeded; use random.Random."
        )
    for kind, handler in (
        (torch.Generator, _TORCH),
        (np.random.Generator, _NUMPY),
        (np.random.RandomState, _LEGACY),
        (random.Random, _PYTHON if type(generator) is random.Random else _PYTHON_SUBCLASS),
        (torch.utils.data.distributed.DistributedSampler, _SAMPLER),
    ):
        if isinstance(generator, kind):
            return handler
    seeding = _seed_method(generator)
    if seeding is not None:
        return _duck(generator, seeding)
    if callable(generator):
        return Handler(seed=_call)
    raise SourceError(
        f"cannot register a {type(generator).__name__}: expected a torch.Generator, numpy.random.Generator, "
        f"RandomState, "
        "random.Random, an object with a method seed(int), or a callable f(seed: int)."
    )


@functools.cache
def _seed_functions() -> tuple[Any, ...]:
    import numpy as np
    import torch

    return (
        random.seed, np.random.seed, torch.manual_seed, torch.random.manual_seed, torch.cuda.manual_seed,
        torch.cuda.manual_seed_all,
    )  # fmt: skip


def _call(function: Any, stream: Stream) -> None:
    function(stream.seed(NARROW_BITS))


def _seed_method(generator: Any) -> str | None:
    if isinstance(
        generator,
        (types.FunctionType, types.MethodType, types.BuiltinFunctionType, functools.partial),
    ):
        return None
    # As on torch.Generator, ``seed`` may take no argument where there is a ``manual_seed``.
    names = ("manual_seed", "seed", "set_random_seed")
    return next((name for name in names if callable(getattr(generator, name, None))), None)


def _duck(generator: Any, seeding: str) -> Handler:
    def seed(target: Any, stream: Stream) -> None:
        getattr(target, seeding)(stream.seed(NARROW_BITS))

    pairs = (("getstate", "setstate"), ("get_state", "set_state"), ("state_dict", "load_state_dict"))
    for pair in pairs:
        if all(callable(getattr(generator, name, None)) for name in pair):
            return _with_state(seed, *pair)
    return Handler(seed)


def _with_state(seed: Callable[[Any, Stream], None], reading: str, writing: str) -> Handler:
    # Copies, since an object may hand out the very container that it goes on to change.
    return Handler(
        seed,
        lambda target: copy.deepcopy(getattr(target, reading)()),
        lambda target, state: getattr(target, writing)(copy.deepcopy(state)),
        lambda state: {"state": encode(state)},
        lambda plain, _: decode(field(plain, "state", object)),
    )


def _bit_state(generator: Any) -> Any:
    return bit_state_to_plain(generator.bit_generator.state)


def _set_bit_state(generator: Any, state: Any) -> None:
    generator.bit_generator.state = bit_state_from_plain(state)


def _bit_from_plain(plain: Plain, generator: Any) -> Any:
    state = field(plain, "state", dict)
    present = type(generator.bit_generator).__name__
    if state.get("bit_generator") != present:
        raise StateError(
            f"it was saved from the bit generator {state.get('bit_generator')!r}, the present one is {present!r}"
        )
    return state


def _seed_numpy_generator(generator: Any, stream: Stream) -> None:
    bit_generator = generator.bit_generator
    if not mersenne.is_mersenne(bit_generator):
        seed_bit_generator(bit_generator, stream)
        return
    import numpy as np

    key = np.frombuffer(stream.bytes(mersenne.KEY_BYTES), dtype="<u4").astype(np.uint32)
    bit_generator.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": mersenne.WORDS}}


_TORCH = Handler(
    lambda generator, stream: stream.seed_torch(generator),
    mersenne.torch_state,
    mersenne.set_torch_state,
    from_plain=torch_from_plain,
)
_NUMPY = Handler(
    _seed_numpy_generator,
    _bit_state,
    _set_bit_state,
    from_plain=_bit_from_plain,
)
_LEGACY = Handler(
    seed_random_state,
    legacy_state,
    set_legacy_state,
    legacy_to_plain,
    lambda plain, generator: legacy_from_plain(plain, generator._bit_generator),
)
_PYTHON = Handler(
    lambda generator, stream: mersenne.seed_python(generator, stream.seed(256)),
    mersenne.python_state,
    mersenne.set_python_state,
    python_to_plain,
    lambda plain, _: python_from_plain(plain),
)
# A subclass may have a state of its own.
_PYTHON_SUBCLASS = Handler(
    lambda generator, stream: generator.seed(stream.seed(256)),
    lambda generator: generator.getstate(),
    lambda generator, state: generator.setstate(state),
    random_to_plain,
    lambda plain, _: random_from_plain(plain),
)


def _seed_sampler(sampler: Any, stream: Stream) -> None:
    epoch = stream.address.get("epoch", 0)
    # Its order is that of an epoch: it must not depend on the step at which the iterator is made.
    address = stream.address.without("step", "phase")
    sampler.seed = Stream(stream.master_seed, address, stream.label, stream.derivation).seed(62)
    sampler.set_epoch(epoch if isinstance(epoch, int) else 0)


def _set_sampler(sampler: Any, state: tuple[int, int]) -> None:
    sampler.seed = state[0]
    sampler.set_epoch(state[1])


_SAMPLER = Handler(
    _seed_sampler,
    lambda sampler: (int(sampler.seed), int(sampler.epoch)),
    _set_sampler,
    lambda state: {"seed": state[0], "epoch": state[1]},
    lambda plain, _: (field(plain, "seed", int), field(plain, "epoch", int)),
)


def _reference(generator: Any) -> Callable[[], Any]:
    functions = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, functools.partial)
    if not isinstance(generator, functions):
        try:
            return weakref.ref(generator)
        except TypeError:
            pass  # NumPy's generators cannot be held weakly
    return lambda: generator
