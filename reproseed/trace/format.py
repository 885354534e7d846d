"""The file format ``reproseed.trace/1``: gzipped JSON lines, the header first.

Each line is one record. ``{"t": "place", ...}`` says where those after it were made. No time and no path is written,
so that equal runs give equal files. Lines are compressed in blocks that can be read one by one: of a run that was
killed, all but the last block is there.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reproseed.trace.errors import TraceError, TraceFormatError
from reproseed.trace.fingerprint import HASH

FORMAT = "reproseed.trace/1"
LEVELS = ("rng", "state", "tensors", "ops")
FAILED = "the tracer failed here and recorded nothing more"
_BLOCK = 2_000  # lines

Record = dict[str, Any]


class Writer:
    """Writes one trace; nothing is opened before the first record.

    Args:
        path: where to; parents are made.
        header: the first line, without ``format`` and ``hash``.
    """

    def __init__(self, path: Path, header: Record) -> None:
        self.path = path
        self._lines = [json.dumps({"format": FORMAT, "hash": HASH, **header}, separators=(",", ":"))]
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0), 0o644)
        except OSError as error:
            raise TraceError(f"cannot write the trace {path}: {error.strerror}. Choose another file with -o.") from None

    def write(self, record: Record) -> None:
        """Add a record."""
        self._lines.append(json.dumps(record, separators=(",", ":")))
        if len(self._lines) >= _BLOCK:
            self.flush()

    def flush(self) -> None:
        """Bring all records to the file."""
        if self._lines:
            data = gzip.compress("".join(line + "\n" for line in self._lines).encode(), compresslevel=4, mtime=0)
            self._lines.clear()
            view = memoryview(data)
            while view:
                view = view[os.write(self._file, view) :]

    def close(self) -> None:
        """Flush and close."""
        self.flush()
        os.close(self._file)


@dataclass
class Place:
    """One place of a run, and the records made there.

    Attributes:
        chain: the addresses in force, outermost first.
        visit: how often the same scope was entered there before.
        tick: optimizer steps taken since the place was reached, where no loop counts steps.
        records: in the order in which they were made.
    """

    chain: tuple[dict[str, Any], ...]
    visit: int
    tick: int
    records: list[Record] = field(default_factory=list)

    @property
    def key(self) -> str:
        """What equal places of two runs have in common."""
        return json.dumps([self.chain, self.visit, self.tick], sort_keys=True)

    @property
    def addressed(self) -> bool:
        """Whether the place has a position of its own: an epoch, or a step of a loop."""
        return any(name != "task" for address in self.chain for name in address)

    @property
    def address(self) -> dict[str, Any]:
        """Task, epoch, step and phase in force, inner ones first."""
        return {name: value for address in self.chain for name, value in address.items()}

    def __str__(self) -> str:
        order = ("task", "epoch", "step", "phase")
        address = self.address
        names = [*(n for n in order if n in address), *sorted(n for n in address if n not in order)]
        parts = [f"{name}={address[name]}" for name in names]
        if self.tick or not parts:
            parts.append(f"optimizer step {self.tick}")
        if self.visit:
            parts.append(f"visit {self.visit}")
        return ", ".join(parts)


@dataclass
class Trace:
    """A trace that was read: its header, and its places in order."""

    path: str
    header: Record
    places: list[Place]

    @property
    def level(self) -> str:
        """The level at which it was recorded."""
        return str(self.header["level"])

    @property
    def notes(self) -> list[str]:
        """What the recorder had to say about its own limits."""
        return [str(r["n"]) for place in self.places for r in place.records if r["t"] == "note"]


def read(path: str | os.PathLike[str]) -> Trace:
    """Read a trace.

    Raises:
        TraceFormatError: there is no such file, it is no trace, or it is damaged; the message says which.
    """
    name = os.fspath(path)
    lines = _lines(name)
    try:
        header = json.loads(next(lines, "null"))
    except json.JSONDecodeError:
        header = None
    if not isinstance(header, dict) or "format" not in header:
        raise TraceFormatError(
            f"{name} is no trace: its first line is no header. Record one with `reproseed trace -o FILE -- COMMAND`."
        )
    if header["format"] != FORMAT:
        raise TraceFormatError(
            f"{name} has the format {header['format']!r}; this version reads {FORMAT!r}. Record it again."
        )
    places: list[Place] = []
    for number, line in enumerate(lines, 2):
        try:
            record = json.loads(line)
            kind = record["t"]
        except (ValueError, TypeError, KeyError):
            raise TraceFormatError(f"{name}, line {number}, is damaged: {line[:60]!r}. Record it again.") from None
        if kind == "place":
            places.append(Place(tuple(record["a"]), record["v"], record["k"]))
        else:
            if not places:
                places.append(Place((), 0, 0))
            places[-1].records.append(record)
    return Trace(name, header, _joined(places))


def _joined(places: list[Place]) -> list[Place]:
    """Join the parts of a place that was left and come back to."""
    joined: dict[str, Place] = {}
    for place in places:
        known = joined.setdefault(place.key, place)
        if known is not place:
            known.records += place.records
    return list(joined.values())


def _lines(name: str) -> Iterator[str]:
    try:
        data = Path(name).read_bytes()
    except OSError as error:
        raise TraceFormatError(f"cannot read the trace {name}: {error.strerror}.") from None
    try:
        text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except EOFError:
        text = _whole_blocks(data)  # the run was killed while it wrote
    except (OSError, zlib.error) as error:
        raise TraceFormatError(f"{name} is damaged: {error}. Record it again.") from None
    try:
        yield from text.decode().splitlines()
    except UnicodeDecodeError:
        raise TraceFormatError(f"{name} is no trace: it holds no text. Record it again.") from None


def _whole_blocks(data: bytes) -> bytes:
    text = b""
    while data:
        block = zlib.decompressobj(31)
        part = block.decompress(data)
        if not block.eof:
            break
        text, data = text + part, block.unused_data
    return text


def check_comparable(a: Trace, b: Trace) -> None:
    """Raise unless two traces can be compared.

    Raises:
        TraceFormatError: they use different hashes.
    """
    if a.header["hash"] != b.header["hash"]:
        raise TraceFormatError(
            f"{a.path} holds {a.header['hash']} digests and {b.path} {b.header['hash']}: they cannot be compared. "
            "Record both with the same version."
        )
