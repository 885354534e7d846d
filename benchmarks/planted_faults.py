"""Plant faults into two training scripts, trace the runs that part, and count how often place and cause are named.

``python benchmarks/planted_faults.py`` prints the table. ``--only TEXT`` runs the faults whose name holds the text,
``--group asked|listed|new|clean`` one group, ``--level`` another level of recording, ``--json FILE`` writes the rows.

A row is right if the runs part at the epoch and step where the fault can show first, and if the first cause is the
expected one. ``certain`` and wrong is the one result that must never come up.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from planted import clean, faults, new_faults
from planted.plant import Fault, PlantError, Runs

from reproseed.trace import diff

GOAL = 0.9


@dataclass(frozen=True)
class Row:
    """What came of one fault in one arm."""

    fault: str
    group: str
    script: str
    arm: str
    wanted_place: tuple[int | None, int | None]
    place: tuple[int | None, int | None] | None
    wanted: tuple[str, ...]
    cause: str | None
    confidence: str | None
    also: tuple[str, ...]
    evidence: str
    seconds: float

    @property
    def step_right(self) -> bool:
        """Whether the runs part where they should."""
        return self.place == self.wanted_place

    @property
    def cause_right(self) -> bool:
        """Whether the cause is the expected one; for clean variants, that there is none."""
        return self.cause in self.wanted if self.wanted else self.cause is None

    @property
    def badly_wrong(self) -> bool:
        """Whether a wrong cause was called certain."""
        return not self.cause_right and self.confidence == "certain"


def try_out(fault: Fault, arm: str, runs: Runs) -> Row:
    """Plant a fault, make both runs, and compare them."""
    begun = time.monotonic()
    a, b = runs.pair(fault, arm)
    found = diff(a, b)
    wanted = fault.place(arm) if fault.cause else None
    common = (fault.name, fault.group, fault.script, arm, wanted)
    if found is None:
        return Row(*common, None, fault.cause, None, None, (), "no difference", time.monotonic() - begun)
    evidence = "; ".join(found.cause.evidence)
    also = tuple(cause.name for cause in found.causes[1:])
    place, cause = (found.epoch, found.step), found.cause
    return Row(*common, place, fault.cause, cause.name, cause.confidence, also, evidence, time.monotonic() - begun)


def show(row: Row) -> str:
    """Return one line of the table."""
    place = "-" if row.place is None else f"{row.place[0]}:{'-' if row.place[1] is None else row.place[1]}"
    mark = "ok" if row.step_right and row.cause_right else "WRONG" if row.badly_wrong else "no"
    cells = (
        (row.fault[:52], 53), (row.script.split("_")[0], 7), (row.arm, 7),
        (place + ("" if row.step_right else "!"), 6),
        (row.wanted[0] if row.wanted else "none", 18), (row.cause or "none", 18), (row.confidence or "", 8), (mark, 5),
    )  # fmt: skip
    return " ".join(text.ljust(width) for text, width in cells)


def summary(rows: Sequence[Row]) -> list[str]:
    """Return the counts, one group a line."""
    lines = []
    for group in dict.fromkeys(row.group for row in rows):
        mine = [row for row in rows if row.group == group]
        steps, causes = (sum(getattr(row, name) for row in mine) for name in ("step_right", "cause_right"))
        faults_of = len({row.fault for row in mine})
        lines.append(f"{group}: {faults_of} faults, {len(mine)} arms: step right {steps}, cause right {causes}")
    lines.append(f"wrong and certain: {sum(row.badly_wrong for row in rows)}")
    return lines


def passed(rows: Sequence[Row]) -> bool:
    """Whether the goals are met: all steps, all asked causes, 90 % of the rest, nothing wrong and certain."""
    rest = [row.cause_right for row in rows if row.group in ("listed", "new")]
    return (
        all(row.step_right for row in rows)
        and all(row.cause_right for row in rows if row.group in ("asked", "clean"))
        and sum(rest) >= GOAL * len(rest)
        and not any(row.badly_wrong for row in rows)
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the faults and print the table; 0 if the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--group", default="")
    parser.add_argument("--level", default="tensors")
    parser.add_argument("--json", default="")
    given = parser.parse_args(argv)
    every = (*faults.ASKED, *faults.LISTED, *new_faults.NEW, *clean.CLEAN)
    chosen = [f for f in every if given.only in f.name and given.group in ("", f.group)]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(Path(folder), given.level)
        for fault in chosen:
            for arm in fault.arms:
                try:
                    rows.append(try_out(fault, arm, runs))
                except PlantError as error:
                    print(error, file=sys.stderr)
                    return 3
                print(show(rows[-1]), flush=True)
                if not (rows[-1].step_right and rows[-1].cause_right):
                    print(
                        f"      wanted {rows[-1].wanted_place}: {rows[-1].evidence[:400]} also {rows[-1].also}",
                        flush=True,
                    )
    print("\n".join(("", *summary(rows))))
    if given.json:
        Path(given.json).write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return 0 if passed(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
