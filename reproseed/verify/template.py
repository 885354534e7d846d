r"""The command to verify: an argument vector with placeholders and optional groups.

`{seed}` is replaced by a value. A group `[[...]]` vanishes when one of the placeholders in it is
empty, as `seed` is in the unseeded arm; it may reach over several arguments. The result is an
argument vector, never a line for a shell. `{{seed}}` stands for the literal text `{seed}`, and
`\[[` for a literal `[[`. Braces around anything but a name stay as they are.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reproseed.verify.errors import TemplateError

PLACEHOLDERS = (
    "epochs",
    "total_epochs",
    "start_epoch",
    "seed",
    "resume",
    "save",
    "metrics",
    "out",
    "arm",
    "repeat",
)

_TOKEN = re.compile(
    r"(?P<escaped_group>\\\[\[)|(?P<open>\[\[)|(?P<close>\]\])"
    r"|\{\{(?P<escaped>[A-Za-z_]\w*)\}\}|\{(?P<name>[A-Za-z_]\w*)\}"
)

_PLAIN = re.compile(r"[\w@%+=:,./\-\[\]{}]+")


@dataclass(frozen=True)
class _Piece:
    """A literal text or a placeholder, and the group that it belongs to (None: it always stays)."""

    text: str
    is_placeholder: bool
    group: int | None


@dataclass(frozen=True)
class Template:
    """A parsed command; make one with `Template.parse`.

    >>> t = Template.parse(["python", "train.py", "[[--seed", "{seed}]]", "--save={save}"])
    >>> t.fill({"seed": "7", "save": "a.pt"})
    ['python', 'train.py', '--seed', '7', '--save=a.pt']
    >>> t.fill({"seed": "", "save": "a.pt"})
    ['python', 'train.py', '--save=a.pt']
    """

    source: tuple[str, ...]
    _arguments: tuple[tuple[tuple[_Piece, ...], int | None], ...]

    @classmethod
    def parse(cls, command: str | Sequence[str]) -> Template:
        """Parse a command.

        Args:
            command: an argument vector, or one text that is split as a POSIX shell would.

        Raises:
            TemplateError: the command is empty, a placeholder is unknown, or a group is nested,
                not closed, or holds no placeholder.
        """
        source = tuple(shlex.split(command) if isinstance(command, str) else command)
        if not source or not source[0]:
            raise TemplateError(
                "the command to verify is empty; write it after `--`, as in "
                "`reproseed verify -- python train.py --epochs {epochs}`."
            )
        parser = _Parser()
        arguments = [parser.argument(text) for text in source]
        parser.finish()
        # An argument of nothing but group marks leaves no argument; an empty one stays empty.
        kept = [a for a, text in zip(arguments, source, strict=True) if a[0] or not text]
        return cls(source, tuple(kept))

    @property
    def names(self) -> frozenset[str]:
        """The placeholders that occur."""
        return frozenset(p.text for pieces, _ in self._arguments for p in pieces if p.is_placeholder)

    def fill(self, values: Mapping[str, str]) -> list[str]:
        """Return the argument vector; a value that is missing counts as empty."""
        vanished = {
            p.group
            for pieces, _ in self._arguments
            for p in pieces
            if p.is_placeholder and p.group is not None and not values.get(p.text)
        }
        filled = []
        for pieces, group in self._arguments:
            kept = [p for p in pieces if p.group not in vanished]
            if group in vanished or (pieces and not kept):
                continue
            filled.append("".join(values.get(p.text, "") if p.is_placeholder else p.text for p in kept))
        return filled

    def __str__(self) -> str:
        """Return the command as it is typed; placeholders and groups need no quotes."""
        return " ".join(t if _PLAIN.fullmatch(t) else shlex.quote(t) for t in self.source)


class _Parser:
    """Reads one argument after the other and remembers the group that is open."""

    def __init__(self) -> None:
        self._open: int | None = None
        self._opened_in = ""
        self._groups = 0
        self._filled: set[int] = set()

    def argument(self, text: str) -> tuple[tuple[_Piece, ...], int | None]:
        group_at_start = self._open
        pieces: list[_Piece] = []
        end = 0
        for match in _TOKEN.finditer(text):
            self._literal(text[end : match.start()], pieces)
            end = match.end()
            if match["escaped_group"]:
                self._literal("[[", pieces)
            elif match["escaped"]:
                self._literal("{" + match["escaped"] + "}", pieces)
            elif match["open"]:
                self._begin(text)
            elif match["close"]:
                # Without an open group it is text: the end of a nested JSON list, say.
                self._end() if self._open is not None else self._literal("]]", pieces)
            else:
                self._placeholder(match["name"], text, pieces)
        self._literal(text[end:], pieces)
        return tuple(pieces), group_at_start if not pieces else None

    def finish(self) -> None:
        if self._open is not None:
            raise TemplateError(
                f"the group that opens in {self._opened_in!r} is never closed; end it with ]]"
                " (write \\[[ for a literal [[)."
            )

    def _literal(self, text: str, pieces: list[_Piece]) -> None:
        if text:
            pieces.append(_Piece(text, False, self._open))

    def _placeholder(self, name: str, text: str, pieces: list[_Piece]) -> None:
        if name not in PLACEHOLDERS:
            near = difflib.get_close_matches(name, PLACEHOLDERS, n=1)
            hint = f"did you mean {{{near[0]}}}? " if near else ""
            raise TemplateError(
                f"unknown placeholder {{{name}}} in the argument {text!r}; {hint}"
                f"known are {', '.join(PLACEHOLDERS)}"
                f" (write {{{{{name}}}}} for the literal text {{{name}}})."
            )
        if self._open is not None:
            self._filled.add(self._open)
        pieces.append(_Piece(name, True, self._open))

    def _begin(self, text: str) -> None:
        if self._open is not None:
            raise TemplateError(
                f"a group opens inside the group of {self._opened_in!r}; groups do not nest:"
                " close the first with ]] before."
            )
        self._groups += 1
        self._open, self._opened_in = self._groups, text

    def _end(self) -> None:
        if self._open not in self._filled:
            raise TemplateError(
                f"the group that opens in {self._opened_in!r} holds no placeholder, so that it"
                " would never vanish; put one in it, or write \\[[ for a literal [[."
            )
        self._open = None
