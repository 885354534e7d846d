"""torch's CPU generator, with a whole Mersenne state for each stream."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from reproseed import mersenne
from reproseed.sources.protocol import Plain, field
from reproseed.streams import Stream

if TYPE_CHECKING:
    import torch


class TorchCpuSource:
    """``torch.default_generator``; its seeding leaves all devices alone, unlike ``torch.manual_seed``."""

    restorable = True
    shared = False

    def __init__(self) -> None:
        self.name = self.label = "torch.cpu"

    def active(self) -> bool:
        """Return True: every process has it."""
        return True

    def seed(self, stream: Stream) -> None:
        """Make 624 words of the stream the state, and 64 further bits the initial seed."""
        stream.seed_torch_cpu(_default())

    def snapshot(self) -> TorchState:
        """Return the state."""
        return TorchState(_default().get_state())

    def restore(self, state: TorchState) -> None:
        """Put back a state."""
        _default().set_state(state.tensor)

    def to_plain(self, state: TorchState) -> Plain:
        """Return the state's bytes."""
        return {"state": state.raw}

    def from_plain(self, plain: Plain) -> TorchState:
        """Return the state again, its size checked against this version of torch."""
        return TorchState(mersenne.torch_buffer(_default(), torch_from_plain(plain, _default())))


class TorchState:
    """A state in the tensor that ``get_state`` gave, which no one writes to; equal if its bytes are."""

    __slots__ = ("tensor",)
    __hash__ = None  # type: ignore[assignment]  # compares by value

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    @property
    def raw(self) -> bytes:
        """The state's bytes."""
        return mersenne.tensor_bytes(self.tensor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TorchState) and self.raw == other.raw


@functools.cache
def _default() -> torch.Generator:
    import torch

    return torch.default_generator


def torch_from_plain(plain: Plain, generator: object) -> bytes:
    """Read a torch generator's state, which must have the size and form that this generator takes."""
    import torch

    state: bytes = field(plain, "state", bytes, len(mersenne.torch_state(generator)))  # type: ignore[arg-type]  # a torch.Generator
    probe = torch.Generator(device=generator.device)  # type: ignore[attr-defined]  # a torch.Generator
    try:
        mersenne.set_torch_state(probe, state)
    except RuntimeError as error:
        from reproseed.errors import StateError

        raise StateError(f"torch refuses its bytes: {error}") from None
    return state
