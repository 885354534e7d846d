"""Takes absolute paths and user names out of reports, which get attached to public issues."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# Two folders or more, not part of a web address or of a relative path.
_ABSOLUTE = re.compile(r"(?<![\w.:/~\-}])(?:[A-Za-z]:)?(?:[/\\][\w.+@\-]+){2,}")
_HOME = re.compile(r"(?:/home|/Users|[A-Za-z]:\\Users)[/\\][^/\\\s'\"]+")


class Scrubber:
    """Replaces what names this machine.

    Args:
        out: the folder of the runs; shown as `{out}`.
    """

    def __init__(self, out: Path) -> None:
        places = {
            str(out): "{out}",
            str(Path.cwd()): ".",
            str(Path.home()): "~",
            sys.prefix: "{python}",
            sys.base_prefix: "{python}",
        }
        # The longest first, since one may lie in another. A bare root names nothing.
        self._places = sorted(
            ((place, name) for place, name in places.items() if len(place) > 1),
            key=lambda pair: -len(pair[0]),
        )

    def scrub(self, content: Any) -> Any:
        """Return plain data with every text in it made anonymous; keys stay."""
        if isinstance(content, str):
            return self.text(content)
        if isinstance(content, Mapping):
            return {key: self.scrub(value) for key, value in content.items()}
        if isinstance(content, (list, tuple)):
            return [self.scrub(value) for value in content]
        return content

    def text(self, text: str) -> str:
        """Return one text made anonymous: other absolute paths keep their last part only."""
        for place, name in self._places:
            text = re.sub(re.escape(place) + r"(?![\w.\-])", lambda _, n=name: n, text)  # type: ignore[misc]  # a default argument binds the name now
        text = _HOME.sub("~", text)
        return _ABSOLUTE.sub(_last_part, text)


def _last_part(match: re.Match[str]) -> str:
    return "…/" + re.split(r"[/\\]", match.group())[-1]
