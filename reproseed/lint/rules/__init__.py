"""The rules, one a file; adding a rule is adding a file.

A file named ``rs101_global_reseed.py`` is rule RS101. It holds

* a docstring, which *is* the message: the first line says what was found, the rest why it matters
  and what to write instead;
* ``LEVEL``: ``"E"``, ``"W"`` or ``"I"``;
* ``check(module, project)``, which yields each node found, or the node and words about it;
* ``BAD`` and ``GOOD``: short sources with and without a finding, which the tests run;
* ``SUPERSEDES = ("RS101",)`` if a finding makes those of other rules at the same place superfluous;
* ``WHOLE_PROJECT = True`` if what it misses may be in another file, so that it stays silent where
  only one file is seen (in flake8).
"""

import dataclasses
import functools
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

from reproseed.lint.findings import Level
from reproseed.lint.project import Project
from reproseed.lint.source import Hit, Module

Check: TypeAlias = Callable[[Module, Project], Iterator[Hit]]

_FILE_NAME = re.compile(r"(rs\d{3})_(\w+)")


@dataclasses.dataclass(frozen=True)
class Rule:
    """A rule as its file states it.

    Attributes:
        code: such as ``"RS101"``.
        name: such as ``"global-reseed"``.
        level: how grave a finding is.
        summary: what was found.
        why: why it matters and what to write instead.
        supersedes: codes whose findings at the same place it makes superfluous.
        whole_project: whether it needs to see every file of a project.
        bad: sources with at least one finding of it.
        good: sources with none.
        check: finds the places.
    """

    code: str
    name: str
    level: Level
    summary: str
    why: str
    supersedes: tuple[str, ...]
    whole_project: bool
    bad: tuple[str, ...]
    good: tuple[str, ...]
    check: Check


@functools.cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, sorted by code.

    >>> [rule.code for rule in all_rules()][:2]
    ['RS101', 'RS102']
    """
    names = sorted(info.name for info in pkgutil.iter_modules(__path__))
    return tuple(_read(name) for name in names if _FILE_NAME.fullmatch(name))


def _read(file_name: str) -> Rule:
    module = importlib.import_module(f"{__name__}.{file_name}")
    code, _, name = file_name.partition("_")
    summary, _, why = inspect.cleandoc(module.__doc__ or "").partition("\n")
    return Rule(
        code=code.upper(),
        name=name.replace("_", "-"),
        level=module.LEVEL,
        summary=summary,
        why=why.strip(),
        supersedes=getattr(module, "SUPERSEDES", ()),
        whole_project=getattr(module, "WHOLE_PROJECT", False),
        bad=module.BAD,
        good=module.GOOD,
        check=module.check,
    )
