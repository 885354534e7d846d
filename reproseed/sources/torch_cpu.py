"""torch's CPU generator, with a whole Mersenne state for each stream."""

from __future__ import annotations

from reproseed import mersenne
from reproseed.sources.protocol import Plain, field
from reproseed.streams import Stream


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
        import torch

        stream.seed_torch(torch.default_generator)

    def snapshot(self) -> bytes:
        """Return the state as bytes."""
        import torch

        return mersenne.torch_state(torch.default_generator)

    def restore(self, state: bytes) -> None:
        """Put back a state."""
        import torch

        mersenne.set_torch_state(torch.default_generator, state)

    def to_plain(self, state: bytes) -> Plain:
        """Return the state's bytes."""
        return {"state": state}

    def from_plain(self, plain: Plain) -> bytes:
        """Return the state again, its size checked against this version of torch."""
        import torch

        return torch_from_plain(plain, torch.default_generator)


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
