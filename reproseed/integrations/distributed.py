"""The run in a ``torch.distributed.checkpoint``: an entry for each rank, and one for the ranks that were not there.

That library raises where a key is missing, so a rank that was not there at the save asks for the common entry alone.
Each entry is one JSON string, so that it counts as one object whatever its size. `Seeder` itself does not serve as an
entry: of equal keys the library writes one rank's, and the ranks' states would be mixed.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

from torch.distributed.checkpoint import state_dict_loader
from torch.distributed.checkpoint.filesystem import FileSystemReader

from reproseed.errors import StateError
from reproseed.ranks import find_place
from reproseed.run import current_seeder
from reproseed.seeder import Seeder
from reproseed.state import seal, to_json, unseal

COMMON = "common"
NO_RANK = -1
"""The rank that the common entry is of: none, so that no rank ever continues on it."""


class RunState:
    """The run as a ``Stateful`` of ``torch.distributed.checkpoint``.

    Args:
        seeder: by default the current run, looked up when the state is saved or loaded.
        saved: where the checkpoint lies that is about to be loaded: its folder, or a ``StorageReader``. Needed on more
            ranks than it was saved on; without it, that library raises for the key that is missing.
        key: the name under which this stands in the checkpoint.

    ``dcp.save({"model": model, "rng": RunState()}, checkpoint_id=folder)`` saves;
    ``dcp.load({"model": model, "rng": RunState(saved=folder)}, checkpoint_id=folder)`` loads, as
    `reproseed.load_state_dict` does. To have master seed and position before anything is drawn, use `read_state`.
    """

    def __init__(self, seeder: Seeder | None = None, *, saved: Any = None, key: str = "rng") -> None:
        self._seeder = seeder
        self._saved = saved
        self._key = key

    def state_dict(self) -> dict[str, Any]:
        """Return this rank's entry and the common one; the common one alone if only that one can be loaded."""
        seeder = self._seeder or current_seeder()
        own = _entry(seeder.place.rank)
        if self._saved is not None:  # to be loaded: only the keys matter
            return _wanted(self._saved, self._key, own)
        state = seeder.state_dict()
        return {COMMON: to_json(_common(state)), own: to_json(state)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go to where the checkpoint stopped, on this rank's own streams.

        Raises:
            StateError: damaged, or no entry of reproseed.
            StateMismatchError: of another run.
        """
        seeder = self._seeder or current_seeder()
        seeder.load_state_dict(_chosen(state_dict, seeder.place.rank))


def read_state(saved: Any, *, key: str = "rng", rank: int | None = None) -> str:
    """Return what a checkpoint holds for this rank, for ``init(resume=...)``.

    With a process group, all ranks must call it.

    Args:
        saved: the checkpoint's folder, or a ``StorageReader``.
        key: the name under which `RunState` was saved.
        rank: by default that of the process group or the launcher.

    Returns:
        the state as JSON: this rank's own, or what all ranks have in common where this one was not there.

    Raises:
        StateError: the checkpoint has no entry of reproseed under that key.
    """
    number = find_place(rank, None, None, None).rank
    state = {key: _wanted(saved, key, _entry(number))}
    with warnings.catch_warnings():
        # It remarks that there is no process group, which is as it should be before init().
        warnings.filterwarnings("ignore", message=".*torch.distributed is (disabled|unavailable)", category=UserWarning)
        state_dict_loader.load(state, storage_reader=_reader(saved))
    return _chosen(state[key], number)


def _entry(rank: int) -> str:
    return f"rank-{rank}"


def _wanted(saved: Any, key: str, own: str) -> dict[str, Any]:
    """Return the entries to ask a checkpoint for, empty: of a key that it lacks the library would raise."""
    keys = set(_reader(saved).read_metadata().state_dict_metadata)
    if f"{key}.{COMMON}" not in keys:
        tops = sorted({name.partition(".")[0] for name in keys})
        raise StateError(
            f"the distributed checkpoint has no {key!r} of reproseed; it holds {', '.join(tops) or 'nothing'}. Save "
            f'it with {{"{key}": RunState()}}, or pass key=.'
        )
    return {entry: "" for entry in (COMMON, own) if f"{key}.{entry}" in keys}


def _chosen(entries: Mapping[str, Any], rank: int) -> str:
    text = entries.get(_entry(rank)) or entries.get(COMMON)
    if not isinstance(text, str):
        raise StateError(
            f"the distributed checkpoint's entries for reproseed are {sorted(map(str, entries))}; "
            f"{_entry(rank)!r} or {COMMON!r} is needed, saved by RunState."
        )
    return text


def _common(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state without what belongs to one rank."""
    parts = unseal(state)
    return seal(parts | {"rank": NO_RANK, "coordinates": {}, "snapshot": {}, "scopes": []})


def _reader(saved: Any) -> Any:
    return FileSystemReader(saved) if isinstance(saved, (str, os.PathLike)) else saved


__all__ = ["RunState", "read_state"]
