"""The linter inside flake8, through the entry-point group ``flake8.extension``.

flake8 shows a plugin one file at a time, so rules that need the whole project stay silent here;
level ``I`` is not reported. Comments of this linter and flake8's own ``noqa`` both silence a
finding.
"""

import ast
from collections.abc import Iterator, Sequence
from typing import ClassVar

from reproseed.lint.engine import lint_module
from reproseed.lint.source import Module


class Flake8Plugin:
    """What flake8 makes for every file.

    Args:
        tree: the parsed file.
        filename: its path.
        lines: its source, line by line.
    """

    name: ClassVar[str] = "reproseed"
    version: ClassVar[str] = "1"

    def __init__(self, tree: ast.Module, filename: str, lines: Sequence[str]) -> None:
        self._module = Module(filename, "".join(lines), tree)

    def run(self) -> Iterator[tuple[int, int, str, type["Flake8Plugin"]]]:
        """Yield line (from 1), column (from 0), text and this class for each finding."""
        for finding in lint_module(self._module):
            yield (
                finding.line,
                finding.column - 1,
                f"{finding.code} {finding.message}",
                type(self),
            )
