"""What an examination finds, as data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Level = Literal["problem", "note", "ok"]
LEVELS: tuple[Level, ...] = ("problem", "note", "ok")


@dataclass(frozen=True)
class Finding:
    """One line of an examination.

    Attributes:
        topic: what was looked at.
        level: ``"problem"``: runs will differ, or what was asked for is not in force. ``"note"``: runs may differ in
            some uses. ``"ok"``: nothing to do.
        found: what is the case.
        do: what to do about it; empty where nothing is.
        where: file and line, if it was found in a script.
    """

    topic: str
    level: Level
    found: str
    do: str = ""
    where: str = ""

    def to_plain(self) -> dict[str, Any]:
        """Return it as a dict of strings, for JSON."""
        return asdict(self)
