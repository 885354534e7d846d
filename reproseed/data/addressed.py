"""Samplers around others: `address` makes the indices of one of the user's carry the run and the address."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import torch.utils.data

from reproseed.data.header import Batch, Header, Index, here
from reproseed.data.order import drawn

if TYPE_CHECKING:
    from reproseed.data.sampler import ElasticBatchSampler


class Addressed(torch.utils.data.Sampler[Any]):
    """A sampler of the user's own whose indices carry the run and the address; made by `address`."""

    def __init__(self, sampler: Any) -> None:
        self.sampler = sampler
        self._bound: Iterator[Any] | None = None

    def bind(self, batches: Iterator[Any] | None) -> None:
        """Let the iterator that is made next serve these."""
        self._bound = batches

    def drawn(self, header: Header, start: int) -> Iterator[Any]:
        """Return what the sampler yields at an address, from a step on; the process's generators are put back."""
        return iter(list(self._marked(drawn(self.sampler, header), header))[start:])

    def __iter__(self) -> Iterator[Any]:
        return self._ambient() if self._bound is None else self._bound

    def __len__(self) -> int:
        return len(self.sampler)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "sampler":
            raise AttributeError(name)
        return getattr(self.sampler, name)

    def _ambient(self) -> Iterator[Any]:
        epoch = getattr(self.sampler, "epoch", None)
        yield from self._marked(self.sampler, here({"epoch": epoch} if type(epoch) is int else None))

    def _marked(self, items: Iterable[Any], header: Header) -> Iterator[Any]:
        place, (rank, world) = 0, header.seeder.place
        for one in items:
            if isinstance(one, (list, tuple)):
                yield Batch(Index(i, header, (place + k) * world + rank) for k, i in enumerate(one))
                place += len(one)
            else:
                yield Index(one, header, place * world + rank)
                place += 1


def address(sampler: Any) -> Addressed:
    """Return a sampler, or a batch sampler, whose indices carry the epoch to `SampleSeeded`.

    The order stays the sampler's own, as does sharing out over ranks. The epoch is the scope's, else the sampler's
    ``epoch``, as ``DistributedSampler`` has it.

    Args:
        sampler: yields indices, or lists of them.

    >>> import torch, reproseed as rs
    >>> from torch.utils.data import DataLoader, RandomSampler
    >>> data = rs.data.SampleSeeded(torch.arange(8))
    >>> loader = DataLoader(data, batch_size=4, sampler=rs.data.address(RandomSampler(data)))
    """
    return Addressed(sampler)


class Flat(torch.utils.data.Sampler[int]):
    """The indices one by one, for loaders with ``batch_size=None`` and trainers that ask for ``order.sampler``."""

    def __init__(self, order: ElasticBatchSampler) -> None:
        self._order = order

    def set_epoch(self, epoch: Any, **coordinates: Any) -> None:
        """Pass the epoch on."""
        self._order.set_epoch(epoch, **coordinates)

    def __iter__(self) -> Iterator[int]:
        batches = iter(self._order)
        return (index for batch in batches for index in batch)

    def __len__(self) -> int:
        return len(self._order) * self._order.batch_size
