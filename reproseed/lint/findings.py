"""What the linter reports: one finding, and the three levels it can have.

Levels: ``E`` the run cannot be reproduced, ``W`` it depends on something it should not, ``I``
worth knowing; ``I`` is hidden unless it is asked for.
"""

import dataclasses
from typing import Literal

Level = Literal["E", "W", "I"]


@dataclasses.dataclass(frozen=True, order=True)
class Finding:
    """One place in one file.

    Attributes:
        path: the file as it was given or found, with forward slashes.
        line: first line, counted from 1.
        column: first column, counted from 1 in characters.
        end_line: last line.
        end_column: one past the last column.
        code: the rule, such as ``"RS101"``.
        level: ``"E"``, ``"W"`` or ``"I"``.
        summary: what was found, the first line of the rule's docstring.
        detail: the code in question.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    code: str
    level: Level
    summary: str
    detail: str

    @property
    def message(self) -> str:
        """The summary, followed by the code in question."""
        return f"{self.summary} [{self.detail}]" if self.detail else self.summary
