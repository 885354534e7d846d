"""Who am I of how many, and do all ranks agree on the run."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from reproseed.address import Value, check_names, check_value, integer
from reproseed.derivation import draw_master_seed
from reproseed.errors import CoordinateTypeError, RankError, RankWarning, warn

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh

_log = logging.getLogger("reproseed")

# Rank and world size as launchers give them; torchrun's first, since it may itself run under SLURM or MPI.
LAUNCHERS = (
    ("RANK", "WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
)
SCOPES = ("task", "epoch", "step")


class Place(NamedTuple):
    """One process among the ranks of a run."""

    rank: int
    world_size: int


ALONE = Place(0, 1)


def find_place(rank: Any, world_size: Any, ngpus: Any, local_rank: Any) -> Place:
    """Find rank and world size: arguments, process group, launcher, fwr13y's arguments, else 0 of 1.

    Raises:
        RankError: a rank outside its world, or only one of the two numbers.
    """
    ngpus = None if ngpus is None else integer("ngpus", ngpus, 1)
    local_rank = None if local_rank is None else integer("local_rank", local_rank)
    place, origin = _known(rank, world_size)
    if place is None:
        place, origin = (
            Place(local_rank or 0, ngpus or (local_rank or 0) + 1),
            "ngpus and local_rank",
        )
    elif local_rank is not None and origin != "rank=" and local_rank != place.rank:
        warn(
            f"local_rank={local_rank} is not this process's rank {place.rank} of {place.world_size} ({origin}): on "
            "several nodes local ranks repeat. The global rank is used.",
            RankWarning,
        )
    if not 0 <= place.rank < place.world_size:
        raise RankError(
            f"rank {place.rank} does not lie in a world of {place.world_size} (from {origin}): "
            "a rank is in [0, world_size)."
        )
    return place


def _known(rank: Any, world_size: Any) -> tuple[Place | None, str]:
    if rank is not None:
        number = integer("rank", rank)
        if world_size is None:
            known = _group() or _launcher()
            world_size = known[0].world_size if known else number + 1
        return Place(number, integer("world_size", world_size, 1)), "rank="
    known = _group() or _launcher()
    if world_size is not None:
        size = integer("world_size", world_size, 1)
        if known is None and size > 1:
            raise RankError(f"world_size={size} was given without rank: pass rank= too, or start under torchrun.")
        return (Place(known[0].rank, size), known[1]) if known else (Place(0, size), "world_size=")
    return known or (None, "")


def _group() -> tuple[Place, str] | None:
    import torch.distributed as dist

    if dist.is_available() and dist.is_initialized():
        return Place(dist.get_rank(), dist.get_world_size()), "torch.distributed"
    return None


def _launcher() -> tuple[Place, str] | None:
    for rank, size in LAUNCHERS:
        if rank in os.environ and size in os.environ:
            try:
                return Place(int(os.environ[rank]), int(os.environ[size])), f"{rank} and {size}"
            except ValueError:
                raise RankError(
                    f"{rank}={os.environ[rank]!r} and {size}={os.environ[size]!r} must be numbers; "
                    "unset them, or pass rank= and world_size=."
                ) from None
    return None


def coordinates_of(
    place: Place, coordinates: dict[str, Any] | None, mesh: DeviceMesh | None, axes: Any
) -> dict[str, Value]:
    """Return what tells this rank's streams from the others': its rank, or the axes that the user names.

    Args:
        place: this process.
        coordinates: such as ``{"dp": 1}``, instead of the rank.
        mesh: a ``DeviceMesh`` whose ``axes`` give the coordinates.
        axes: names of mesh dimensions, such as ``("dp",)``.

    Raises:
        CoordinateTypeError: both forms at once, a mesh without axes, or an axis that the mesh does not have.
    """
    if mesh is not None:
        if coordinates is not None:
            raise CoordinateTypeError("init() takes coordinates= or mesh= with axes=, not both.")
        names = tuple(mesh.mesh_dim_names or ())
        chosen = (axes,) if isinstance(axes, str) else tuple(axes or ())
        if not chosen or any(axis not in names for axis in chosen):
            raise CoordinateTypeError(f"axes={axes!r}: name the mesh dimensions whose ranks differ, out of {names}.")
        coordinates = {axis: mesh.get_local_rank(axis) for axis in chosen}
    elif axes is not None:
        raise CoordinateTypeError(f"axes={axes!r} needs mesh=, the DeviceMesh that they belong to.")
    if coordinates is None:
        return {"rank": place.rank}
    if not isinstance(coordinates, dict):
        raise CoordinateTypeError(f"coordinates={coordinates!r} must be a dict such as {{'dp': 1}}.")
    taken = [name for name in coordinates if name in SCOPES]
    if taken:
        raise CoordinateTypeError(
            f"coordinates={coordinates!r}: {taken[0]!r} is set by scopes; name what tells ranks apart, such as 'dp'."
        )
    check_names(coordinates, SCOPES, "init(coordinates=)")
    return {name: check_value(name, value) for name, value in coordinates.items()}


def agree_on(chosen: int | None, derivation: int, place: Place, count: int) -> tuple[int, bool]:
    """Return the run's master seed and whether it was drawn; the same on all ranks.

    With a process group it is one small all-gather, which also checks that all ranks chose alike. Without one, a drawn
    seed goes through the launcher's store.

    Args:
        chosen: the seed that this rank was given, None to have one drawn.
        derivation: the derivation's version.
        place: this process.
        count: how many runs this process has begun, so that two of them do not share a key of the store.

    Raises:
        RankError: the ranks differ, with those that do named; or a seed is to be drawn and cannot be shared.
    """
    drawn = draw_master_seed() if chosen is None else chosen
    group = _group()
    if group is not None and group[0].world_size > 1:
        return _gathered(chosen, drawn, derivation)
    if place.world_size == 1 or chosen is not None:
        return drawn, chosen is None
    return _stored(drawn, place, count), True


def _gathered(chosen: int | None, drawn: int, derivation: int) -> tuple[int, bool]:
    import torch
    import torch.distributed as dist

    # Two halves, since int64 cannot hold the upper half of the seeds.
    row = [int(chosen is not None), drawn >> 32, drawn & 0xFFFFFFFF, derivation]
    device = group_device()
    mine = torch.tensor(row, dtype=torch.int64, device=device)
    gathered = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(gathered, mine)
    rows = [[int(x) for x in one.tolist()] for one in gathered]
    given, high, low, version = rows[0]
    odd = [rank for rank, row in enumerate(rows) if row[3] != version]
    if odd:
        raise RankError(f"ranks {odd} use derivation {rows[odd[0]][3]}, rank 0 uses {version}: pass the same to all.")
    odd = [rank for rank, row in enumerate(rows) if row[0] and (not given or row[1:3] != [high, low])]
    if odd:
        other = (rows[odd[0]][1] << 32) + rows[odd[0]][2]
        first = (high << 32) + low if given else "none"
        raise RankError(
            f"the ranks do not agree on the master seed: rank 0 has {first}, ranks {odd} differ (rank {odd[0]} has "
            f"{other}). Pass the same master_seed to all ranks, or None to all."
        )
    return (high << 32) + low, not given


def group_device(group: Any = None) -> Any:
    """Return a device whose tensors a process group (by default that of all ranks) can exchange."""
    import torch
    import torch.distributed as dist

    # A group that has no CPU backend (NCCL alone) gathers on the device that the user has chosen for it.
    group = dist.distributed_c10d._get_default_group() if group is None else group
    kinds = [device.type for device in group._device_types]
    return torch.device("cpu") if "cpu" in kinds or not kinds else torch.device(kinds[0])


def _stored(drawn: int, place: Place, count: int) -> int:
    needed = ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT")
    if any(name not in os.environ for name in needed) or os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        raise RankError(
            f"master_seed=None with {place.world_size} ranks: the drawn seed cannot be shared yet. Call "
            "torch.distributed.init_process_group() before init(), or pass the same master_seed to all ranks."
        )
    from torch._C._distributed_c10d import TCPStore

    store = TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    key = f"reproseed/{os.environ['TORCHELASTIC_RUN_ID']}/{attempt}/{count}/master_seed"
    if place.rank == 0:
        store.set(key, str(drawn))
    return int(store.get(key))
