"""Comments that silence findings.

``# reproseed: ignore`` silences every rule on its line, ``# reproseed: ignore[RS101, RS2]`` those
codes or prefixes; ``# reproseed: ignore-file`` and ``# reproseed: ignore-file[RS101]`` hold for
the whole file. A finding over several lines is silenced on its first or its last.
"""

import dataclasses
import io
import re
import tokenize

_COMMENT = re.compile(r"#\s*reproseed:\s*(ignore(?:-file)?)\b(?!-)\s*(?:\[([^\]]*)\])?")
_ALL = ("",)


@dataclasses.dataclass(frozen=True)
class Suppressions:
    """Prefixes of silenced codes, by line and for the file; the empty prefix is every code."""

    lines: dict[int, tuple[str, ...]]
    file: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> "Suppressions":
        r"""Collect the comments of ``text``, which must be Python that parses.

        >>> Suppressions.read("f()  # reproseed: ignore[RS101]\n").lines
        {1: ('RS101',)}
        """
        lines: dict[int, tuple[str, ...]] = {}
        file: tuple[str, ...] = ()
        if "reproseed:" not in text:  # tokenising is the slow part, and nearly every file has none
            return cls(lines, file)
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type != tokenize.COMMENT:
                continue
            for kind, listed in _COMMENT.findall(token.string):
                codes = tuple(c.strip().upper() for c in listed.split(",") if c.strip()) or _ALL
                if kind == "ignore-file":
                    file += codes
                else:
                    lines[token.start[0]] = lines.get(token.start[0], ()) + codes
        return cls(lines, file)

    def silence(self, code: str, first_line: int, last_line: int) -> bool:
        """Whether a finding of ``code`` on these lines is silenced."""
        at = self.lines.get(first_line, ()) + self.lines.get(last_line, ()) + self.file
        return code.startswith(at) if at else False
