"""Every accelerator through one class: cuda, xpu, mtia, mps, or a backend registered as PrivateUse1.

A device is read or seeded only if this process has initialised it: reading a CUDA state would initialise CUDA,
which a forked child must never do and a process without a GPU should not. A device that is initialised later is
seeded at that moment, by one callback in torch's lazy seed slot, from the address then in force. MPS has no such
slot and needs none: its generator exists as soon as the backend is available.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from reproseed import mersenne
from reproseed.errors import StateError
from reproseed.sources.protocol import Plain
from reproseed.streams import Stream

if TYPE_CHECKING:
    import torch

TYPES = ("cuda", "xpu", "mtia", "mps")
"""Device types that torch ships; a PrivateUse1 backend is asked for by the name it has."""


class AcceleratorSource:
    """The generators of all devices of one type.

    Args:
        device_type: such as ``"cuda"``.
        module: torch's module of that type, as ``torch.get_device_module`` gives it.
        distinct: give each device index a stream of its own instead of all the same.
    """

    restorable = True
    shared = False

    def __init__(self, device_type: str, module: ModuleType | Any, distinct: bool = False) -> None:
        self.name = self.label = f"torch.{device_type}"
        self.device_type = device_type
        self.module = module
        self.distinct = distinct
        self._slot: Any = None

    def active(self) -> bool:
        """Whether this process has initialised the device type, asked without initialising it."""
        module = self.module
        if self._forked():
            return False
        if hasattr(module, "is_initialized"):
            return bool(module.is_initialized())
        try:
            return bool(module.is_available())
        except Exception:  # whatever a broken driver raises: nothing is there to be seeded
            return False

    def _forked(self) -> bool:
        return bool(getattr(self.module, "_is_in_bad_fork", _false)())

    def capturing(self) -> bool:
        """Whether a graph of this device is being captured; asked only where the device is active."""
        return bool(getattr(self.module, "is_current_stream_capturing", _false)())

    def seed(self, stream: Stream) -> None:
        """Seed each device's Philox with 64 bits; no synchronisation."""
        for index, generator in enumerate(self._generators()):
            chosen = stream
            if self.distinct:
                chosen = Stream(stream.master_seed, stream.address, f"{stream.label}:{index}", stream.derivation)
            generator.manual_seed(chosen.seed(64))

    def snapshot(self) -> tuple[bytes, ...]:
        """Return a state for each device index."""
        return tuple(mersenne.torch_state(generator) for generator in self._generators())

    def restore(self, state: tuple[bytes, ...]) -> None:
        """Put back a state for each device index; further devices stay as they are."""
        for generator, one in zip(self._generators(), state, strict=False):
            mersenne.set_torch_state(generator, one)

    def to_plain(self, state: tuple[bytes, ...]) -> Plain:
        """Return the states' bytes in the order of the device indices."""
        return {"devices": list(state)}

    def from_plain(self, plain: Plain) -> tuple[bytes, ...]:
        """Return the states again; they must have the size that this device type takes."""
        states = plain.get("devices")
        generators = self._generators()
        size = len(mersenne.torch_state(generators[0])) if generators else None
        if not isinstance(states, list) or not all(isinstance(s, bytes) for s in states):
            raise StateError("its field 'devices' is not a list of states")
        if size is not None and any(len(s) != size for s in states):
            raise StateError(f"its states have {sorted({len(s) for s in states})} bytes; {size} are expected")
        return tuple(states)

    def arm(self, on_initialized: Callable[[], None]) -> None:
        """Queue the callback for the device's initialisation, unless it is still queued.

        torch's seed functions put themselves into the same slots: whoever seeds last before the device comes up, wins.
        """
        tracker = getattr(self.module, "_lazy_seed_tracker", None)
        # The last of the calls decides: ``cuda.manual_seed`` has a slot of its own, which may come after ours.
        if tracker is None or (self._slot is not None and tracker.call_order[-1:] == [self._slot]) or self._forked():
            return
        tracker.queue_seed_all(on_initialized, [])
        self._slot = tracker.manual_seed_all_cb

    def _generators(self) -> list[torch.Generator]:
        generators = getattr(self.module, "default_generators", None)
        if generators:
            return list(generators)
        single = getattr(self.module, "_get_default_mps_generator", None)  # the one backend without the tuple
        return [single()] if single is not None else []


def accelerators(distinct: bool = False) -> list[AcceleratorSource]:
    """Return a source for each device type that this build of torch knows."""
    import torch

    own = torch._C._get_privateuse1_backend_name()
    found = []
    for device_type in (*TYPES, own):
        try:
            module = torch.get_device_module(device_type)
        except (RuntimeError, AttributeError):
            continue  # a PrivateUse1 backend that nobody has registered
        if device_type == "mps":
            if torch.backends.mps.is_built():
                found.append(AcceleratorSource(device_type, module, distinct))
        elif getattr(module, "_is_compiled", _true)():
            found.append(AcceleratorSource(device_type, module, distinct))
    return found


def _false() -> bool:
    return False


def _true() -> bool:
    return True
