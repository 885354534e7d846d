"""What becomes of the arguments of ``torch.utils.data.DataLoader`` in `reproseed.data.seeded_loader`.

argument                                             what happens
---------------------------------------------------  ---------------------------------------------------------
dataset                                              wrapped in SampleSeeded or IterableSeeded, unless it is one
batch_size                                           per rank; global_batch_size= is the alternative
shuffle, drop_last                                   give the ElasticBatchSampler's order and tail
sampler                                              its order, drawn at the epoch's address, is shared out
batch_sampler                                        an ElasticBatchSampler; another one gets its epoch by address()
collate_fn                                           chained: its draws belong to the batch
worker_init_fn                                       chained: runs after ours
generator                                            refused: the loader has one of its own, seeded in each pass
DistributedSampler                                   refused: the samples are shared out already
num_workers, pin_memory, timeout, prefetch_factor,   passed on
multiprocessing_context, persistent_workers,
pin_memory_device, in_order
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch.utils.data.distributed import DistributedSampler

from reproseed.address import integer
from reproseed.data.addressed import Addressed
from reproseed.data.iterable import IterableSeeded
from reproseed.data.passes import MapPasses, Passes, SamplerPasses, StreamPasses
from reproseed.data.sampler import ElasticBatchSampler
from reproseed.data.samples import SampleSeeded
from reproseed.errors import CoordinateTypeError, CoordinateValueError

PASSED_ON = (
    "num_workers", "pin_memory", "timeout", "multiprocessing_context", "prefetch_factor", "persistent_workers",
    "pin_memory_device", "in_order",
)  # fmt: skip


def refuse(given: Mapping[str, Any]) -> None:
    """Raise for arguments that have no place here, that exclude each other, or that are no values of theirs."""
    if given["dataset"] is None:
        raise CoordinateTypeError("seeded_loader(None): a dataset is wanted, with __getitem__ and __len__ or iterable.")
    for name in ("shuffle", "drop_last", "persistent_workers", "pin_memory", "in_order"):
        if type(given[name]) is not bool:
            raise CoordinateTypeError(f"seeded_loader({name}={given[name]!r}): True or False is wanted.")
    for name in ("collate_fn", "worker_init_fn", "transform"):
        if given[name] is not None and not callable(given[name]):
            raise CoordinateTypeError(f"seeded_loader({name}={given[name]!r}): a function is wanted, or None.")
    if isinstance(given["order"], str):
        raise CoordinateTypeError(
            f"seeded_loader(order={given['order']!r}): a function of a stream or an array of indices is wanted; "
            "shuffle=True is the usual order."
        )
    if given["generator"] is not None:
        raise CoordinateTypeError(
            "seeded_loader() takes no generator=: it has one of its own, which the scope seeds; order and draws follow "
            "from master_seed, task and epoch."
        )
    for name in ("sampler", "batch_sampler"):
        inner = getattr(given[name], "sampler", given[name])
        if isinstance(inner, DistributedSampler):
            raise CoordinateTypeError(
                f"seeded_loader already shares the samples out over {inner.num_replicas} ranks; remove {name}=."
            )
    if given["batch_size"] != 1 and given["global_batch_size"] is not None:
        raise CoordinateTypeError("seeded_loader() takes batch_size= (per rank) or global_batch_size=, not both.")
    if given["tail"] is not None and given["drop_last"]:
        raise CoordinateTypeError(f"drop_last=True is tail='drop': pass it or tail={given['tail']!r}, not both.")
    orders = [n for n in ("shuffle", "order", "sampler", "batch_sampler") if not _absent(given[n])]
    if len(orders) > 1:
        raise CoordinateTypeError(
            f"seeded_loader() takes one of {', '.join(f'{n}=' for n in orders)}: each of them is an order."
        )


def _absent(value: Any) -> bool:
    return value is None or value is False


def of_samples(given: Mapping[str, Any]) -> tuple[Passes, dict[str, Any]]:
    """Return the passes over a map-style dataset, and what the DataLoader is made of."""
    dataset, transform = given["dataset"], given["transform"]
    if not isinstance(dataset, SampleSeeded):
        dataset = SampleSeeded(dataset, transform)
    elif transform is not None:
        raise CoordinateTypeError("transform= belongs to SampleSeeded(dataset, transform=...), which this dataset is.")
    if given["batch_sampler"] is not None:
        return _given_batches(dataset, given)
    whole, size = given["global_batch_size"], given["batch_size"]
    order = ElasticBatchSampler(
        len(dataset),
        whole,
        batch_size=None if whole is not None else 1 if size is None else size,
        rank=given["rank"],
        world_size=given["world_size"],
        shuffle=given["shuffle"],
        tail=given["tail"] or ("drop" if given["drop_last"] else "uneven"),
        order=given["sampler"] if given["order"] is None else given["order"],
        num_samples=given["num_samples"],
    )
    passes = MapPasses(order, all_ranks=given["tail"] is None)
    if size is None:
        return passes, {"dataset": dataset, "sampler": order.sampler, "batch_size": None}
    return passes, {"dataset": dataset, "batch_sampler": order}


def _given_batches(dataset: SampleSeeded, given: Mapping[str, Any]) -> tuple[Passes, dict[str, Any]]:
    nothing = ("global_batch_size", "tail", "num_samples", "rank", "world_size")
    defaults = dict.fromkeys(nothing) | {"batch_size": 1, "drop_last": False}
    odd = [name for name, default in defaults.items() if given[name] != default]
    if odd:
        raise CoordinateTypeError(f"{', '.join(f'{n}=' for n in odd)} belongs to the batch_sampler that was given.")
    order = given["batch_sampler"]
    if isinstance(order, ElasticBatchSampler):
        return MapPasses(order), {"dataset": dataset, "batch_sampler": order}
    order = order if isinstance(order, Addressed) else Addressed(order)
    return SamplerPasses(order), {"dataset": dataset, "batch_sampler": order}


def of_stream(given: Mapping[str, Any]) -> tuple[Passes, dict[str, Any]]:
    """Return the passes over an iterable dataset, and what the DataLoader is made of."""
    dataset, transform = given["dataset"], given["transform"]
    names = ("shuffle", "sampler", "batch_sampler", "order", "num_samples", "tail", "global_batch_size")
    odd = [name for name in names if not _absent(given[name])]
    if odd:
        raise CoordinateValueError(
            f"seeded_loader() takes no {', '.join(f'{n}=' for n in odd)} for an iterable dataset: its order is its own."
        )
    if not isinstance(dataset, IterableSeeded):
        dataset = IterableSeeded(dataset, transform=transform, rank=given["rank"], world_size=given["world_size"])
    elif transform is not None:
        raise CoordinateTypeError(
            "transform= belongs to IterableSeeded(dataset, transform=...), which this dataset is."
        )
    size = None if given["batch_size"] is None else integer("batch_size", given["batch_size"], 1)
    passes = StreamPasses(dataset, given["num_workers"], size or 1, given["drop_last"])
    return passes, {"dataset": dataset, "batch_size": size, "drop_last": given["drop_last"]}
