"""`Divergence`: the place where two runs part, and why; plain data."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Confidence = Literal["certain", "likely"]


@dataclass(frozen=True)
class Cause:
    """One cause.

    Attributes:
        name: one of `reproseed.trace.causes.NAMES`, such as ``RNG_EXTRA_DRAW``.
        confidence: ``certain`` where the evidence leaves no other, else ``likely``.
        evidence: what differs, each sentence computed from the traces.
        remedy: what to do.
    """

    name: str
    confidence: Confidence
    evidence: tuple[str, ...]
    remedy: str = ""


@dataclass(frozen=True)
class Divergence:
    """Where two runs part for the first time.

    Attributes:
        address: task, epoch, step and phase of the place, as far as the run has them.
        place: the same, and the count of optimizer steps where no loop counts, as text.
        what: what differs there first, such as ``output of Net.conv1``.
        a: what the first run recorded.
        b: what the second run recorded.
        causes: the most likely first; what it may have caused in turn comes after.
        equal: what was compared and equal up to there.
        notes: limits of the comparison, such as a compiled module.
        compared: number of places that were compared, this one included.
    """

    address: dict[str, Any]
    place: str
    what: str
    a: dict[str, Any]
    b: dict[str, Any]
    causes: tuple[Cause, ...]
    equal: tuple[str, ...]
    notes: tuple[str, ...] = ()
    compared: int = 0
    files: tuple[str, str] = field(default=("", ""))

    @property
    def cause(self) -> Cause:
        """The most likely cause."""
        return self.causes[0]

    @property
    def step(self) -> Any:
        """The step, where the run counts steps."""
        return self.address.get("step")

    @property
    def epoch(self) -> Any:
        """The epoch, where the run has addresses."""
        return self.address.get("epoch")

    @property
    def summary(self) -> str:
        """One sentence."""
        cause = self.cause
        return f"The runs part at {self.place}: {self.what}; {cause.name} ({cause.confidence}): {cause.evidence[0]}."

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        whole = {"format": "reproseed.diff/1", "summary": self.summary, **asdict(self)}
        plain: dict[str, Any] = json.loads(json.dumps(whole))
        return plain

    def __str__(self) -> str:
        from reproseed.trace.render import text

        return text(self)

    def _repr_html_(self) -> str:
        from reproseed.trace.render import html

        return html(self)
