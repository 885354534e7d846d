"""The final state of one run: what the script reported, or the tensors of its checkpoint."""

from __future__ import annotations

import json
import re
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reproseed.verify.fingerprints import Fingerprint, fingerprint, is_array, leaves
from reproseed.verify.record import STATE_FORMAT

CHECKPOINT_ENDINGS = (".pt", ".pth", ".ckpt", ".bin", ".npz", ".npy")


@dataclass(frozen=True)
class FinalState:
    """Fingerprints by path; where they come from; why there are none, if there are none."""

    entries: dict[str, Fingerprint] = field(default_factory=dict)
    source: str = ""
    environment: dict[str, Any] = field(default_factory=dict)
    problem: str = ""


def read_final_state(reported: Path, checkpoint: Path) -> FinalState:
    """Return a run's final state.

    Args:
        reported: the file that `final_state` writes; it goes first.
        checkpoint: the file or folder at `{save}`; of it, tensors and arrays count, since
            plain values are often times, paths and arguments.
    """
    parts = sorted(reported.parent.glob(reported.name + "*"))
    if parts:
        return _reported(parts)
    if not checkpoint.exists():
        return FinalState(problem="the script neither called final_state nor wrote {save}")
    files = [checkpoint]
    if checkpoint.is_dir():
        files = sorted(p for p in checkpoint.rglob("*") if p.suffix in CHECKPOINT_ENDINGS)
    entries: dict[str, Fingerprint] = {}
    for file in files:
        prefix = f"{file.relative_to(checkpoint)}:" if file != checkpoint else ""
        try:
            tensors = _tensors(file)
        except Exception as error:  # whatever a foreign file makes a reader raise
            return FinalState(
                problem=f"the checkpoint {{save}} could not be read without running code of it"
                f" ({type(error).__name__}: {_short(str(error))}); save state dicts, or call final_state"
            )
        entries |= {prefix + path: fingerprint(value, path) for path, value in tensors.items()}
    if not entries:
        return FinalState(problem="the checkpoint {save} holds no tensors")
    return FinalState(entries, "checkpoint")


def _short(text: str) -> str:
    """Return the first sentence of a foreign error, without a terminal's colours."""
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text).strip()
    line = (plain.splitlines() or ["no message"])[0].split(". ")[0]
    return line if len(line) <= 160 else line[:160].rsplit(" ", 1)[0] + " ..."


def _reported(parts: list[Path]) -> FinalState:
    entries: dict[str, Fingerprint] = {}
    environment: dict[str, Any] = {}
    for part in parts:
        record = json.loads(part.read_text(encoding="utf-8"))
        if record.get("format") != STATE_FORMAT:
            return FinalState(
                problem=f"the final state has the format {record.get('format')!r};"
                f" expected {STATE_FORMAT!r}: the script uses another version of reproseed"
            )
        _, _, rank = part.name.rpartition(".rank")
        prefix = f"rank{rank}:" if rank.isdigit() else ""
        entries |= {prefix + path: value for path, value in record["entries"].items()}
        environment = environment or record["environment"]
    return FinalState(entries, "final_state", environment)


def _tensors(file: Path) -> dict[str, object]:
    """Return the tensors and arrays of a checkpoint by path. Never unpickles code."""
    if _is_numpy_file(file):
        import numpy as np

        loaded = np.load(file, allow_pickle=False)
        content: object = dict(loaded) if hasattr(loaded, "files") else loaded
    else:
        import torch

        content = torch.load(file, map_location="cpu", weights_only=True)
    return {path or "tensor": leaf for path, leaf in leaves(content) if is_array(leaf)}


def _is_numpy_file(file: Path) -> bool:
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            return all(name.endswith(".npy") for name in archive.namelist())
    with file.open("rb") as opened:
        return opened.read(6) == b"\x93NUMPY"
