"""What stands around a sampler: `address` for one of the user's own, a flat view and an iteration of ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch.utils.data

from reproseed.data.header import Batch, Header, Index, here
from reproseed.data.order import drawn
from reproseed.data.position import Layout, Plan, Seek

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


class Pass(Iterator[Batch]):
    """One iteration; it reads its place at the first batch. Its state is what torchdata's loader saves and loads."""

    def __init__(self, order: ElasticBatchSampler, plan: Plan | None) -> None:
        self._order = order
        self._plan = plan
        self._seek: Seek | None = None
        self._batches: Iterator[Batch] | None = None
        self._step = 0

    def __next__(self) -> Batch:
        if self._batches is None:
            if self._plan is None:
                self._plan = self._order.plan(self._seek)
                self._order.begin(self._plan)
            self._step = self._plan.step
            self._batches = self._order.batches(self._plan)
        batch = next(self._batches)
        self._step += 1
        return batch

    def state_dict(self) -> dict[str, Any]:
        """Return the position after the batches that this iterator has given."""
        if self._batches is None:
            return self._order.state_dict()
        return Layout.of(self._order, self._plan).state(self._step, self._plan, None)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Begin where a state stands."""
        self._seek, epoch = Seek.load(self._order, state)
        if epoch is not None:
            self._order.set_epoch(**epoch)
