"""`SampleSeeded`: a dataset whose random draws belong to the sample, not to the worker that happens to make it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import torch.utils.data

from reproseed.address import Value, check_value
from reproseed.data.drawing import LIBRARIES, Drawing, check_libraries
from reproseed.data.header import Header, Index
from reproseed.data.workers import let_generators_cross, sources_in
from reproseed.errors import CoordinateValueError, ReproseedWarning, ScopeError, warn
from reproseed.sources.objects import ObjectSource


class Samples(list[Any]):
    """The samples of one batch on their way to the collate function, with the first index."""

    first: Index


class SampleSeeded(torch.utils.data.Dataset[Any]):
    """A map-style dataset, each of whose samples draws from streams of its own.

    What ``__getitem__`` and the transforms draw from Python's, NumPy's and torch's global generators, and from any
    generator that the dataset holds, is a function of master seed, task, epoch and sample: equal for any number of
    workers, start method, prefetching, batch size and number of ranks. In the main process everything is put back.

    The epoch comes with the indices: iterate with `seeded_loader`, with an `ElasticBatchSampler`, or wrap a sampler of
    your own by `address`. Make it the *outermost* wrapper, ``SampleSeeded(Subset(data, ...))``: a sample's identity is
    its index here.

    torch's and NumPy's global generators get 32 bits per sample (64, of which torch keeps 32), since a whole state
    would cost several times as much; `sample_rng` is full width.

    Args:
        dataset: anything with ``__getitem__`` and ``__len__``.
        transform: applied to what ``dataset[index]`` gives. With it, a dataset's own ``__getitems__`` is called once
            a batch, and only the transform draws on the sample's streams.
        rngs: which of ``"python"``, ``"numpy"``, ``"torch"`` to seed.
        generators: further generators, or callables ``f(seed: int)``, that are not found in the dataset; a mapping
            names their streams, a sequence numbers them.
        key_fn: index to identity, an int or a str, such as a file name: then a sample keeps its draws in another split
            or order of the data.
        address: ``"sample"``: an index drawn twice in an epoch has equal draws. ``"position"``: the place in the
            epoch's order counts instead, so that repeats differ.

    Raises:
        CoordinateValueError: an unknown ``rngs`` or ``address``.

    >>> import random, reproseed as rs
    >>> class Noise:
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, index):
    ...         return random.random()
    >>> with rs.seeded(master_seed=1, task="train", epoch=0):
    ...     one = list(rs.data.seeded_loader(rs.data.SampleSeeded(Noise()), batch_size=2))
    """

    def __init__(
        self,
        dataset: Any,
        transform: Callable[[Any], Any] | None = None,
        *,
        rngs: Iterable[str] = LIBRARIES,
        generators: Mapping[str, Any] | Sequence[Any] = (),
        key_fn: Callable[[int], Value] | None = None,
        address: Literal["sample", "position"] = "sample",
    ) -> None:
        if address not in ("sample", "position"):
            raise CoordinateValueError(f"SampleSeeded(address={address!r}): allowed are 'sample' and 'position'.")
        if address == "position" and key_fn is not None:
            raise CoordinateValueError("SampleSeeded takes key_fn= or address='position', not both.")
        if isinstance(dataset, torch.utils.data.IterableDataset):
            raise CoordinateValueError("SampleSeeded needs indices; an IterableDataset takes rs.data.IterableSeeded.")
        self.dataset = dataset
        self.transform = transform
        self._rngs = check_libraries(rngs)
        self._generators = dict(generators) if isinstance(generators, Mapping) else dict(enumerate(generators))
        self._key_fn = key_fn
        self._address = address
        self._found: tuple[Header, list[ObjectSource]] | None = None
        self._sources(None)  # what cannot be seeded is refused here, not in a worker
        if transform is None and _reads_batches(dataset):
            warn(
                f"{type(dataset).__name__}.__getitems__ reads a whole batch at once and is not used: its samples would "
                "share one stream. Move what draws into SampleSeeded(dataset, transform=...), which calls it once a "
                "batch.",
                ReproseedWarning,
            )
        let_generators_cross()

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, Index):
            raise _no_header(index)
        return self._draw([index])[0]

    def __getitems__(self, indices: Sequence[Any]) -> Samples:
        """Return the samples of a batch, each drawn on its own streams."""
        for index in indices:
            if not isinstance(index, Index):
                raise _no_header(index)
        return self._draw(indices)

    def _draw(self, indices: Sequence[Index]) -> Samples:
        samples = Samples()
        if not indices:
            return samples
        samples.first = indices[0]
        dataset, transform, key = self.dataset, self.transform, self._key
        header = indices[0].header
        with Drawing(header, self._rngs, self._sources(header)) as drawing:
            at, append = drawing.at, samples.append
            if transform is None:
                for index in indices:
                    at(index.header, key(index))
                    append(dataset[int(index)])
                return samples
            read = getattr(dataset, "__getitems__", None)
            items = None if read is None else read([int(index) for index in indices])
            for place, index in enumerate(indices):
                at(index.header, key(index))
                append(transform(dataset[int(index)] if items is None else items[place]))
        return samples

    def _key(self, index: Index) -> Value:
        if self._address == "position":
            return index.position
        if self._key_fn is None:
            return int(index)
        return check_value("key_fn(index)", self._key_fn(int(index)))

    def _sources(self, header: Header | None) -> list[ObjectSource]:
        """Return the dataset's generators; they are looked for anew in each pass, as transforms may make them late."""
        if self._found is None or header is None or self._found[0] is not header:
            named = [
                ObjectSource(one, name if isinstance(name, str) else f"{type(one).__name__}.{name}", True)
                for name, one in self._generators.items()
            ]
            given = {id(one.generator) for one in named}
            found = [
                s
                for s in sources_in(self.dataset, self.transform, names=("dataset", "transform"))
                if id(s.generator) not in given
            ]
            if header is None:
                return []
            self._found = (header, [*named, *found])
        return self._found[1]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "dataset" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.dataset, name)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_found": None}

    def __repr__(self) -> str:
        return f"SampleSeeded({self.dataset!r})"


def _reads_batches(dataset: Any) -> bool:
    while isinstance(dataset, torch.utils.data.Subset):  # which has the method, and hands the call on
        dataset = dataset.dataset
    return hasattr(dataset, "__getitems__")


def _no_header(index: Any) -> ScopeError:
    return ScopeError(
        f"sample {index!r} was asked for without its epoch, so its streams are unknown. Wrap in this order: "
        "SampleSeeded(Subset(data, ...)) or SampleSeeded(ConcatDataset([...])), not the other way round, and iterate "
        "with rs.data.seeded_loader(...), or give a plain DataLoader sampler=rs.data.address(sampler)."
    )


class SeededCollate:
    """A collate function whose draws are a function of the epoch and of the batch's place in it.

    Equal for any number of workers; not for another batch size or number of ranks, where there is another batch.
    """

    def __init__(self, collate: Callable[[list[Any]], Any]) -> None:
        self.collate = collate

    def __call__(self, samples: Any) -> Any:
        """Collate samples as they come from `SampleSeeded`; other lists pass through unseeded."""
        if not isinstance(samples, Samples) or not samples:
            return self.collate(samples)
        first = samples.first
        with Drawing(
            first.header, sources=sources_in(self.collate, names=("collate",)), label="sample.collate"
        ) as drawing:
            drawing.at(first.header, first.position)
            return self.collate(list(samples))
