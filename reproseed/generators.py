"""The generators of one run, and the streams that they are put on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from reproseed import mersenne, stack
from reproseed.address import Address, Value, check_name, check_value
from reproseed.derivation import check_derivation, check_master_seed
from reproseed.errors import CaptureError, CoordinateTypeError, NotRestorableWarning, warn
from reproseed.snapshots import StreamOf
from reproseed.sources.accelerator import AcceleratorSource
from reproseed.sources.protocol import Source
from reproseed.sources.registry import Registry
from reproseed.stack import Entry
from reproseed.streams import Stream


class Generators:
    """The generators of one run, the master seeds and the coordinates that their streams derive from."""

    def __init__(
        self,
        master_seed: int,
        *,
        drawn: bool,
        coordinates: Mapping[str, Value],
        task_seeds: Mapping[Value, int] | None,
        distinct_devices: bool,
        derivation: int,
        seeding: bool,
    ) -> None:
        self.master_seed = check_master_seed(master_seed)
        self.drawn = drawn
        # Whether a checkpoint's seed may still take this one's place: not once a checkpoint has been loaded.
        self.gives_way = drawn
        self.coordinates = {check_name(name): check_value(name, value) for name, value in coordinates.items()}
        self.task_seeds = {
            check_value("task", task): check_master_seed(seed, f"task_seeds[{task!r}]")
            for task, seed in (task_seeds or {}).items()
        }
        self.derivation = check_derivation(derivation)
        self.seeding = seeding
        self.registry = Registry(distinct_devices)
        self.base, self.base_shared = Address(), True
        self._base_master: int | None = None
        self._derived: list[str] = []
        self._warned: set[str] = set()
        self.waiting: dict[str, Any] = {}

    def register_generator(
        self, gen: Any = None, shared: bool = False, *, name: str | None = None, within: Any = None
    ) -> None:
        """Add a generator, or all that an object holds; see `reproseed.register_generator`."""
        if (gen is None) == (within is None):
            raise CoordinateTypeError(
                "register_generator() takes a generator or within=, an object that holds some: exactly one of the two."
            )
        before = self.registry.contents()
        if within is not None:
            added = self.registry.register_within(within, shared, name)
        else:
            one = self.registry.register(gen, shared, name)
            added = [] if one is None else [one]
        entry = stack.innermost()
        around = entry if entry is not None and entry.seeder is self else None
        stream_of = self.streams_around(around)()
        try:
            for source in added if self.seeding else ():
                source.seed(stream_of(source))
        except BaseException:
            self.registry.go_back(before)
            raise

    def unregister_generator(self, gen: Any) -> None:
        """Remove a generator, or all that an object holds; see `reproseed.unregister_generator`."""
        self.registry.unregister(gen)

    def sources(self, always: bool = False) -> list[Source]:
        """Return the sources that exist now; none where seeding is off."""
        if not (self.seeding or always):
            return []
        sources = self.registry.present()
        if self.registry.may_come_up:
            self.registry.arm(self._device_came_up)
        return sources

    def master_of(self, address: Address, master_seed: int | None) -> int:
        """Return the master seed that an address derives from: the scope's own, the task's, or the run's."""
        if master_seed is not None:
            return master_seed
        if self.task_seeds and "task" in address:
            return self.task_seeds.get(address["task"], self.master_seed)
        return self.master_seed

    def streams_at(self, address: Address, shared: bool, master_seed: int | None) -> StreamOf:
        """Return the streams of an address, by source."""
        master = self.master_of(address, master_seed)
        private = address if shared else address.joined(self.coordinates)
        derivation = self.derivation

        return lambda source: Stream(master, address if source.shared else private, source.label, derivation)

    def streams_around(self, entry: Entry | None) -> Callable[[], StreamOf]:
        """Return a call for the streams in force inside a scope, or outside all of them."""
        if entry is None:
            return lambda: self.streams_at(self.base, self.base_shared, self._base_master)
        return lambda: entry.seeder.streams_at(entry.address, entry.shared, entry.master_seed)

    def named_stream(self, name: str, address: Address, shared: bool, master_seed: int | None) -> Stream:
        """Return the stream of a name at an address."""
        if not isinstance(name, str) or not name:
            raise CoordinateTypeError(f"stream({name!r}): a name is wanted, a text that is not empty, such as 'split'.")
        check_value("name", name)
        if self.gives_way and self.master_of(address, master_seed) == self.master_seed:
            self._note_derived(repr(name))
        private = address if shared else address.joined(self.coordinates)
        return Stream(self.master_of(address, master_seed), private, f"stream:{name}", self.derivation)

    def seeds_at(self, entry: Entry) -> dict[str, int]:
        """Return the leading bits of each source's stream."""
        stream_of = self.streams_at(entry.address, entry.shared, entry.master_seed)
        return {source.name: _leading_bits(source, stream_of(source)) for source in self.sources()}

    def seed(self, sources: Iterable[Source], address: Address, shared: bool, master_seed: int | None) -> None:
        """Put sources at the start of an address's streams."""
        # As `streams_at`, without a call for each source.
        master, derivation = self.master_of(address, master_seed), self.derivation
        private = address if shared else address.joined(self.coordinates)
        for source in sources:
            source.seed(Stream(master, address if source.shared else private, source.label, derivation))
        if self.gives_way and master == self.master_seed:
            self._note_derived(str(address))

    def seed_base(self) -> None:
        """Put everything on the base stream, which is equal on all ranks."""
        self.base, self.base_shared, self._base_master = Address(), True, None
        stream_of = self.streams_around(None)()
        for source in self.sources():
            source.seed(stream_of(source))

    def stand_at(self, address: Address, shared: bool, master_seed: int | None) -> None:
        """Take notice that the streams outside all scopes are those of an address."""
        self.base, self.base_shared, self._base_master = address, shared, master_seed

    def take_master_seed(self, master_seed: int, task_seeds: Mapping[Value, int]) -> None:
        """Take over the master seed of a checkpoint, and begin at its base stream."""
        self.master_seed, self._derived = master_seed, []
        self.task_seeds = dict(task_seeds)
        if stack.innermost() is None:
            self.seed_base()

    @property
    def derived(self) -> list[str]:
        """The first streams that were derived from a drawn master seed."""
        return list(self._derived)

    def _note_derived(self, what: str) -> None:
        if len(self._derived) < 3:
            self._derived.append(what)

    def refuse_capture(self, address: Address) -> None:
        """Raise if a device graph is being captured: its generators cannot be read or seeded then."""
        device = self.registry.capturing()
        if device is not None:
            raise CaptureError(
                f"cannot enter {address} while a {device} graph is being captured: enter the scope around the capture, "
                "or around the replay."
            )

    def note_not_restorable(self, sources: Iterable[Source]) -> None:
        """Warn once of sources that can only be seeded again where a scope gives everything back."""
        names = [s.name for s in sources if not s.restorable and s.name not in self._warned]
        if names:
            self._warned.update(names)
            warn(
                f"{', '.join(names)}: a callable can be seeded, not read. Where a scope gives the streams back it "
                f"is called "
                "again with the enclosing address's seed; register the generator itself to have it put back exactly.",
                NotRestorableWarning,
            )

    def _device_came_up(self, source: AcceleratorSource) -> None:
        entry = stack.innermost()
        waiting = self.waiting.pop(source.name, None)
        if waiting is not None and entry is None and self.base == Address():
            source.restore(source.from_plain(waiting))
        else:
            source.seed(self.streams_around(entry)()(source))


def _leading_bits(source: Source, stream: Stream) -> int:
    if not source.restorable:
        return stream.seed(31)
    if source.name == "torch.cpu":
        return int.from_bytes(stream.bytes(mersenne.KEY_BYTES + 8)[mersenne.KEY_BYTES :], "little")
    return stream.seed(64)
