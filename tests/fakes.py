"""Stand-ins for what a test machine lacks: an accelerator with two devices.

`FakeDeviceModule` answers as ``torch.cuda`` does, with CPU generators in place of Philox ones: it is initialised
lazily, runs the queued seed calls then, in torch's own tracker, and refuses in a forked child. What it cannot stand in
for is in ``tests/gpu``.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import torch
from torch._utils import _LazySeedTracker


class BrokenDriverError(RuntimeError):
    """What a device raises without a working driver."""


class FakeDeviceModule:
    """A device module of torch with lazily initialised devices.

    Args:
        count: number of devices.
        broken: raise `BrokenDriverError` wherever the driver would be asked.

    Attributes:
        default_generators: empty until the devices are initialised, as in torch.
        touched: how often a generator was asked for; a child that counts one has touched the device.
        capturing: set it to let a graph capture be under way.
    """

    def __init__(self, count: int = 2, broken: bool = False) -> None:
        self._count = count
        self._broken = broken
        self._initialized = False
        self._pid: int | None = None
        self._lazy_seed_tracker = _LazySeedTracker()
        self._generators: tuple[torch.Generator, ...] = ()
        self.touched = 0
        self.capturing = False

    # --- what torch.cuda has ------------------------------------------------------------------------------------------

    @property
    def default_generators(self) -> tuple[torch.Generator, ...]:
        self.touched += bool(self._generators)
        return self._generators

    def _is_in_bad_fork(self) -> bool:
        return self._pid is not None and self._pid != os.getpid()

    def is_initialized(self) -> bool:
        return self._initialized and not self._is_in_bad_fork()

    def is_available(self) -> bool:
        self._ask_driver()
        return True

    def device_count(self) -> int:
        self._ask_driver()
        return self._count

    def is_current_stream_capturing(self) -> bool:
        self._ask_driver()
        return self.capturing

    def init(self) -> None:
        """Bring the devices up, as the first tensor on one does."""
        if self.is_initialized():
            return
        if self._is_in_bad_fork():
            raise RuntimeError("Cannot re-initialize the device in a forked subprocess")
        self._ask_driver()
        self._pid = os.getpid()
        # A device that nobody seeds begins at a constant; unlike torch's, one that differs from device to device.
        self._generators = tuple(torch.Generator().manual_seed(index + 1) for index in range(self._count))
        for queued in self._lazy_seed_tracker.get_calls():
            if queued:
                queued[0]()
        self._initialized = True

    def manual_seed(self, seed: int) -> None:
        """Seed the current device, the first; queued until there is one."""
        self._lazy_call(lambda: self._generators[0].manual_seed(seed), self._lazy_seed_tracker.queue_seed)

    def manual_seed_all(self, seed: int) -> None:
        """Seed all devices; queued until there are any. ``torch.manual_seed`` calls it."""

        def seed_all() -> None:
            for generator in self._generators:
                generator.manual_seed(seed)

        self._lazy_call(seed_all, self._lazy_seed_tracker.queue_seed_all)

    # --- for tests ----------------------------------------------------------------------------------------------------

    def draw(self, index: int = 0, n: int = 3) -> list[float]:
        """Draw on a device, bringing it up if need be."""
        self.init()
        return torch.rand(n, generator=self._generators[index], dtype=torch.float64, device="cpu").tolist()

    def states(self) -> list[bytes]:
        """Return the states of all devices."""
        return [bytes(generator.get_state().numpy()) for generator in self._generators]

    def _ask_driver(self) -> None:
        if self._broken:
            raise BrokenDriverError("the driver is too old")

    def _lazy_call(self, call: Callable[[], object], queue: Callable[..., None]) -> None:
        if self.is_initialized():
            call()
        else:
            queue(call, [])


class FakeMps:
    """A device module without a lazy seed slot, with one generator from the start, as ``torch.mps`` is."""

    def __init__(self) -> None:
        self.generator = torch.Generator().manual_seed(1)

    def is_available(self) -> bool:
        return True

    def _get_default_mps_generator(self) -> torch.Generator:
        return self.generator
