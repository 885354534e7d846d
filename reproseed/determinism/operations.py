"""The operations without a deterministic form, as the installed torch lists them, and what to write instead.

The list is read from the documentation of ``torch.use_deterministic_algorithms``, which comes with every version; only
the replacements are ours.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Literal

_ITEM = re.compile(r":(?:class|func|meth|attr):`~?(?P<name>[\w.]+)`\s*(?P<when>.*)", re.DOTALL)
_REFUSED = re.compile(r"(?P<name>[\w.:]+) does not have a deterministic implementation")
_MODULE = "reproseed.determinism.replacements"


@dataclass(frozen=True)
class Operation:
    """One operation whose plain form may give other bits each time.

    Attributes:
        name: as torch spells it, such as ``torch.cumsum``.
        when: the condition, in the words of torch's documentation; empty if there is none.
        under_mode: what deterministic algorithms make of it: ``"deterministic"`` or ``"raises"``.
        instead: what to write in its place, or None where no exact replacement is known here.
    """

    name: str
    when: str
    under_mode: Literal["deterministic", "raises"]
    instead: str | None


# By a part of the name in the documentation, and of the kernel's name in the error; the more special ones first.
_INSTEAD: tuple[tuple[str, str, str], ...] = (
    ("torch.index_add", "index_add", f"{_MODULE}.index_add"),
    ("torch.index_select", "index_select|index_add_cuda", f"{_MODULE}.index_select"),
    ("scatter_add", "scatter_add", f"{_MODULE}.scatter_add"),
    ("torch.cumsum", "cumsum", f"{_MODULE}.cumsum"),
    ("interpolate", "upsample_bilinear2d", f"{_MODULE}.upsample_bilinear"),
    ("torch.gather", "gather", f"{_MODULE}.gather"),
    ("torch.bincount", "bincount", f"{_MODULE}.scatter_add of the weights into zeros"),
    ("Tensor.put_", "^put_$", "torch.Tensor.index_put on the flattened tensor, where indices do not repeat"),
    ("MaxUnpool", "max_unpool", f"{_MODULE}.scatter_add into zeros, where windows do not overlap"),
    ("NLLLoss", "nll_loss", f"minus the mean of {_MODULE}.gather of the log-probabilities by target"),
    ("ReflectionPad", "reflection_pad", f"{_MODULE}.index_select of the mirrored positions, a dimension at a time"),
    (
        "AdaptiveAvgPool2d",
        "adaptive_avg_pool2d",
        "reshape to (..., h, window, w, window) and mean, where the size divides",
    ),
    ("Conv", "", "itself: deterministic while cuDNN's flag is on"),
)


@functools.cache
def operations() -> tuple[Operation, ...]:
    """Return the operations that the installed torch lists, those that raise last.

    >>> [o.instead for o in operations() if o.name == "torch.cumsum"]
    ['reproseed.determinism.replacements.cumsum']
    """
    import torch

    return parse(torch.use_deterministic_algorithms.__doc__ or "")


def parse(documentation: str) -> tuple[Operation, ...]:
    """Read the two lists out of the documentation of ``torch.use_deterministic_algorithms``."""
    found: list[Operation] = []
    for what in ("act", "throw"):
        start = re.search(rf"normally-nondeterministic\s+operations\s+will\s+{what}\b.*?:\n", documentation, re.DOTALL)
        if start is None:
            continue
        for item in _items(documentation[start.end() :]):
            match = _ITEM.match(item)
            if match is not None:
                name, when = match["name"], " ".join(match["when"].split())
                under: Literal["deterministic", "raises"] = "raises" if what == "throw" else "deterministic"
                found.append(Operation(name, when, under, _instead(name)))
    return tuple(found)


def explain(error: BaseException | str) -> Operation | None:
    """Return what torch's error or warning is about, with the replacement; None if it is about something else.

    >>> explain("put_ does not have a deterministic implementation, but you set ...").name
    'put_'
    """
    match = _REFUSED.search(str(error))
    if match is None:
        return None
    kernel = match["name"]
    instead = next((write for _, pattern, write in _INSTEAD if pattern and re.search(pattern, kernel)), None)
    return Operation(kernel, "", "raises", instead)


def _items(text: str) -> list[str]:
    """Return the items of the list that a text begins with; a nested list stays with its item."""
    items: list[str] = []
    outer: int | None = None
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            continue
        bullet = line.lstrip().startswith(("* ", "- "))
        outer = indent if outer is None else outer
        if indent < outer:
            break
        if bullet and indent == outer:
            items.append(line.lstrip()[2:])
        elif items:
            items[-1] += " " + line.strip()
    return items


def _instead(name: str) -> str | None:
    return next((write for part, _, write in _INSTEAD if part in name), None)
