"""The process while samples are drawn: its libraries on each sample's streams, and all as before at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from reproseed import mersenne, stack
from reproseed.address import Address, Value
from reproseed.data.header import Header
from reproseed.data.workers import adopt, in_worker
from reproseed.errors import CoordinateValueError, ScopeError
from reproseed.snapshots import Snapshot, put_back
from reproseed.sources.objects import ObjectSource
from reproseed.sources.python import process_random
from reproseed.stack import Entry

if TYPE_CHECKING:
    from typing_extensions import Self

LIBRARIES = ("python", "numpy", "torch")


class SampleEntry(Entry):
    """The scope of the sample that is being drawn: scopes and streams inside its transforms stand at its address.

    Both properties are computed where they are asked for, since seeding a sample has to take about 10 microseconds.
    """

    __slots__ = ("header", "key", "rng")
    header: Header
    key: Value
    rng: Any

    @property
    def address(self) -> Address:
        """The pass's address and the sample."""
        return self.header.address.extended(sample=self.key)

    @address.setter
    def address(self, value: Address) -> None:
        pass

    @property
    def own(self) -> dict[str, Value]:
        """What scopes inside inherit: the user's own coordinates, and the sample."""
        left_out = ("task", "epoch", "step", "phase")
        return {n: v for n, v in self.header.address.items() if n not in left_out} | {"sample": self.key}

    @own.setter
    def own(self, value: dict[str, Value]) -> None:
        pass


class Drawing:
    """A context in which `at` puts the process on a sample's streams.

    In the main process it puts every generator back at the end, also after an exception: the training streams are not
    the loader's to move. In a worker it puts nothing back, and makes the run of the header current.

    Args:
        header: the run and the address.
        libraries: which of ``"python"``, ``"numpy"``, ``"torch"`` to seed.
        sources: the dataset's own generators.
        label: what the streams' labels begin with.
    """

    def __init__(
        self,
        header: Header,
        libraries: Iterable[str] = LIBRARIES,
        sources: Iterable[ObjectSource] = (),
        label: str = "sample",
    ) -> None:
        self._libraries = tuple(libraries)
        self._sources = list(sources)
        self._label = label
        self._before: Snapshot | None = None
        self._header: Header | None = None
        self._entry = SampleEntry.__new__(SampleEntry)
        self._begin(header)

    def __enter__(self) -> Self:
        header = self._entry.header
        seeder = header.seeder
        if in_worker():
            seeder = adopt(header)
        elif seeder.seeding:
            stack.admit(header.address)
            seen = list(seeder.sources())
            known = {id(source.generator) for source in seen if isinstance(source, ObjectSource)}
            self._before = Snapshot([*seen, *(s for s in self._sources if id(s.generator) not in known)])
        self._entry.rng = None
        Entry.__init__(self._entry, seeder, header.master_seed, header.address, {}, shared=True)
        stack.push([self._entry])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        stack.remove(self._entry)
        if self._before is not None:
            put_back(self._before, (), None)

    def at(self, header: Header, key: Value) -> None:
        """Put the libraries and the dataset's generators at the start of a sample's streams."""
        entry = self._entry
        if header is not self._header:
            self._begin(header)
        entry.key, entry.rng = key, None
        self._seed(key)

    def _begin(self, header: Header) -> None:
        self._header = self._entry.header = header
        self._entry.key = ""
        seeds = [_SEEDERS[name](header.fan(f"{self._label}.{name}")) for name in self._libraries]
        sources, stream_at = self._sources, header.stream

        def seed(key: Value) -> None:
            for one in seeds:
                one(key)
            for source in sources:
                source.seed(stream_at(source.label, sample=key))

        self._seed: Callable[[Value], None] = seed if header.seeder.seeding else _nothing


def _nothing(key: Value) -> None:
    pass


def _python(fan: Callable[[Value, int], bytes]) -> Callable[[Value], None]:
    seed, generator = mersenne.seed_python, process_random()
    return lambda key: seed(generator, int.from_bytes(fan(key, 16), "little"))


def _numpy(fan: Callable[[Value, int], bytes]) -> Callable[[Value], None]:
    import numpy as np

    def seed(key: Value) -> None:
        try:
            # 32 bits: a whole state costs five times as much.
            np.random.seed(int.from_bytes(fan(key, 4), "little"))  # reproseed: ignore[RS101]
        except TypeError:  # the user has put another bit generator than MT19937 in place
            bit_generator = np.random.mtrand._rand._bit_generator
            bit_generator.state = type(bit_generator)(int.from_bytes(fan(key, 32), "little")).state

    return seed


def _torch(fan: Callable[[Value, int], bytes]) -> Callable[[Value], None]:
    import torch

    # Not torch.manual_seed, which costs a hundred times as much and seeds every device of the main process.
    seed = torch.default_generator.manual_seed

    def seed_torch(key: Value) -> None:
        seed(int.from_bytes(fan(key, 8), "little"))

    return seed_torch


_SEEDERS = {"python": _python, "numpy": _numpy, "torch": _torch}


def sample_rng() -> Any:
    """Return the NumPy generator of the sample that is being drawn: full width, and equal in every process.

    Call it in ``__getitem__`` or in a transform, under `SampleSeeded`. Within one sample it is one generator.

    Returns:
        a ``numpy.random.Generator`` on Philox, keyed with 128 bits.

    Raises:
        ScopeError: no sample is being drawn here.

    >>> from reproseed.data import SampleSeeded, sample_rng, seeded_loader
    >>> import reproseed as rs
    >>> class Noise:
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, index):
    ...         return sample_rng().standard_normal()
    >>> with rs.seeded(master_seed=1, task="train", epoch=0):
    ...     batches = list(seeded_loader(Noise(), batch_size=2))
    """
    entry = next((e for e in reversed(stack.entries()) if isinstance(e, SampleEntry)), None)
    if entry is None:
        raise ScopeError(
            "sample_rng() belongs to a sample that is being drawn: call it in __getitem__ or in a transform of a "
            "dataset under rs.data.SampleSeeded, in the thread that draws the sample."
        )
    if entry.rng is None:
        entry.rng = entry.header.stream("sample.generator", sample=entry.key).numpy_generator()
    return entry.rng


def check_libraries(libraries: Iterable[str]) -> tuple[str, ...]:
    """Return the names of libraries, or raise naming those that exist."""
    chosen = (libraries,) if isinstance(libraries, str) else tuple(libraries)
    unknown = [name for name in chosen if name not in LIBRARIES]
    if unknown:
        raise CoordinateValueError(f"rngs={libraries!r}: allowed are {', '.join(map(repr, LIBRARIES))}.")
    return chosen
