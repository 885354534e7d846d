"""A check that copies which must be equal on all ranks still are: streams, parameters, tensors.

Ranks drift apart in silence: one of them draws once more, or misses an update, and only the curves tell. Here each rank
hashes what it holds; while all agree, the ranks exchange 16 bytes each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from reproseed.errors import CoordinateTypeError
from reproseed.ranks import group_device
from reproseed.run import current_seeder

Digests = dict[str, str]
_DIGEST = 16  # bytes


def assert_ranks_agree(what: Any = "streams", *, group: Any = None) -> None:
    """Assert that all ranks hold the same bits; all of them must call it, and all of them raise.

    Call it where the ranks are meant to be equal: outside all scopes or in a ``shared`` one for the streams, after an
    optimizer step for parameters. Nothing is drawn.

    Args:
        what: ``"streams"``, the states of all generators of the run; a module, its parameters and buffers; a tensor; or
            a dict of tensors, such as a ``state_dict()``. Of a ``DTensor`` the part that lies on this rank counts, so
            that ``group`` must be one of ranks that hold the same part.
        group: a process group; by default that of all ranks. Without a process group there is nothing to compare.

    Raises:
        AssertionError: names the rank and the first source, parameter or tensor that differs from the first rank's.
        CoordinateTypeError: ``what`` is none of these.

    >>> import torch
    >>> assert_ranks_agree(torch.ones(3))
    """
    import torch.distributed as dist

    kind, digests = _digests_of(what)
    if not (dist.is_available() and dist.is_initialized()):
        return
    gathered = _gather(_digest(repr(digests).encode()), group)
    if len(set(gathered)) == 1:
        return
    whole: list[Digests] = [{}] * len(gathered)
    dist.all_gather_object(whole, digests, group=group)
    ranks = dist.get_process_group_ranks(group or dist.group.WORLD)
    raise AssertionError(_difference(kind, whole, ranks))


def _difference(kind: str, whole: list[Digests], ranks: list[int]) -> str:
    """Say of each rank what differs first; the order of the names is the first rank's."""
    first = whole[0]
    found = []
    for rank, other in zip(ranks[1:], whole[1:], strict=True):
        names = [*first, *(name for name in other if name not in first)]
        odd = [name for name in names if first.get(name) != other.get(name)]
        if odd:
            more = f" (and {len(odd) - 1} more)" if len(odd) > 1 else ""
            found.append(f"rank {rank} in {_what(odd[0], first, other)}{more}")
        elif list(other) != list(first):
            found.append(f"rank {rank} in the order of {kind}")
    return f"{kind} differ from rank {ranks[0]}'s: {'; '.join(found)}."


def _what(name: str, first: Digests, other: Digests) -> str:
    if name not in other:
        return f"{name!r}, which it lacks"
    return f"{name!r}" if name in first else f"{name!r}, which only it has"


def _digests_of(what: Any) -> tuple[str, Digests]:
    """Return what is compared, in words, and a digest of each of its parts by name."""
    import torch

    if isinstance(what, str) and what == "streams":
        seeder = current_seeder()
        return "streams", {name: _digest(repr(plain).encode()) for name, plain in seeder.snapshot().to_plain().items()}
    if isinstance(what, torch.nn.Module):
        parts = {**dict(what.named_parameters()), **dict(what.named_buffers())}
        return "parameters and buffers", _of_tensors(parts)
    if isinstance(what, torch.Tensor):
        return "tensors", _of_tensors({"tensor": what})
    if isinstance(what, Mapping) and all(isinstance(value, torch.Tensor) for value in what.values()):
        return "tensors", _of_tensors({str(name): value for name, value in what.items()})
    raise CoordinateTypeError(
        f"assert_ranks_agree({type(what).__name__}): allowed are 'streams', a module, a tensor, or a dict of tensors."
    )


def _of_tensors(tensors: Mapping[str, Any]) -> Digests:
    return {name: _digest(_tensor_bytes(tensor)) for name, tensor in tensors.items()}


def _tensor_bytes(tensor: Any) -> bytes:
    """Return dtype, shape and bits: equal values of another dtype are no equal copies, nor are 0.0 and -0.0."""
    import torch

    here = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    flat = here.detach().to(device="cpu").contiguous().reshape(-1)
    head = f"{here.dtype} {tuple(here.shape)} ".encode()
    return head + bytes(flat.view(torch.uint8).numpy().tobytes())


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=_DIGEST).hexdigest()


def _gather(digest: str, group: Any) -> list[str]:
    import torch
    import torch.distributed as dist

    mine = torch.tensor(list(bytes.fromhex(digest)), dtype=torch.uint8, device=group_device(group))
    gathered = [torch.empty_like(mine) for _ in range(dist.get_world_size(group))]
    dist.all_gather(gathered, mine, group=group)
    return [bytes(one.tolist()).hex() for one in gathered]


__all__ = ["assert_ranks_agree"]
