"""What reports of several kinds have in common: plain data, JSON, pictures, a page, and themselves in a notebook."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reproseed.verify.privacy import Scrubber

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Saved:
    """Base of a report: a subclass gives `content`, `figures`, `to_html` and `fragment`.

    Attributes:
        out: the folder of runs and report.
        pictures: file names of the pictures that `save` has written, by name.
    """

    out: Path
    pictures: dict[str, str]

    def content(self) -> dict[str, Any]:
        """Return the report as plain data."""
        raise NotImplementedError

    def figures(self) -> dict[str, Figure]:
        """Return the pictures as matplotlib figures, by name."""
        raise NotImplementedError

    def to_html(self) -> str:
        """Return one self-contained HTML page, with its pictures inside."""
        raise NotImplementedError

    def fragment(self) -> str:
        """Return what stands on the page, without the page."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data, without absolute paths and user names."""
        scrubbed: dict[str, Any] = Scrubber(self.out).scrub(self.content() | {"pictures": dict(self.pictures)})
        return scrubbed

    def to_json(self) -> str:
        """Return the report as JSON text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"

    def save(self, out: Path | None = None) -> Path:
        """Write `report.json`, `report.html` and the pictures (PNG); return the page's path."""
        from reproseed.verify.figures import save_png

        folder = Path(out or self.out)
        folder.mkdir(parents=True, exist_ok=True)
        self.pictures = save_png(self.figures(), folder)
        (folder / "report.json").write_text(self.to_json(), encoding="utf-8")
        (folder / "report.html").write_text(self.to_html(), encoding="utf-8")
        return folder / "report.html"

    def _repr_html_(self) -> str:
        return self.fragment()
