"""Run rules over files and sources, and drop what comments silence.

A file that cannot be read or parsed becomes a finding itself (RS001, RS002), and the others go
on.
"""

import ast
import contextlib
import gc
import io
import os
import tokenize
from collections.abc import Iterable, Iterator, Sequence

from reproseed.errors import ReproseedError
from reproseed.lint.files import python_files
from reproseed.lint.findings import Finding, Level
from reproseed.lint.project import Project
from reproseed.lint.rules import Rule, all_rules
from reproseed.lint.source import Hit, Module

UNREADABLE = "RS001"
UNPARSABLE = "RS002"
_DETAIL = 80


class LintUsageError(ReproseedError, ValueError):
    """The linter was asked for something that does not exist."""


class RuleCrashError(ReproseedError, RuntimeError):
    """A rule failed on a file: a fault of the linter, not of the file."""


def lint_paths(
    paths: Iterable[str | os.PathLike[str]],
    *,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    level: Level = "W",
    exclude: Sequence[str] = (),
) -> list[Finding]:
    """Lint files and folders as one project.

    Args:
        paths: files, linted whatever their names, and folders, searched for ``*.py``.
        select: codes or prefixes of codes (``"RS1"``) to report; None for all.
        ignore: codes or prefixes not to report.
        level: least grave level to report: ``"E"``, ``"W"`` or ``"I"``.
        exclude: glob patterns of files and folders to leave out, as names or as paths.

    Returns:
        Findings, sorted by file and place; those silenced by comments left out.

    Raises:
        LintUsageError: a path, a level or a code does not exist.
        RuleCrashError: a rule failed.

    >>> lint_paths([])
    []
    """
    rules = chosen_rules(select, ignore, level)
    missing = [os.fspath(p) for p in paths if not os.path.exists(p)]
    if missing:
        raise LintUsageError(f"cannot lint {missing[0]!r}: no such file or folder; check the path.")
    with _collector_paused():
        read = [_read(path) for path in python_files(paths, exclude)]
        troubles = [r for r in read if isinstance(r, Finding)]
        project = Project([r for r in read if isinstance(r, Module)])
        return sorted([*troubles, *_run(rules, project)])


def lint_source(
    text: str,
    filename: str = "<string>",
    *,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    level: Level = "W",
) -> list[Finding]:
    r"""Lint one source as a project of its own; see ``lint_paths``.

    Args:
        text: the source.
        filename: how findings name it.
        select: codes or prefixes to report; None for all.
        ignore: codes or prefixes not to report.
        level: least grave level to report.

    Raises:
        LintUsageError: a level or a code does not exist.
        RuleCrashError: a rule failed.

    >>> [f.code for f in lint_source("import random\nrandom.seed()")]
    ['RS106']
    """
    rules = chosen_rules(select, ignore, level)
    read = _parse(filename, text)
    if isinstance(read, Finding):
        return [read]
    return sorted(_run(rules, Project([read])))


def lint_module(module: Module) -> list[Finding]:
    """Lint a file whose project is not known; rules that need all of a project are left out."""
    rules = [rule for rule in chosen_rules(None, None, "W") if not rule.whole_project]
    return sorted(_run(rules, Project([module])))


def chosen_rules(select: Sequence[str] | None, ignore: Sequence[str] | None, level: Level) -> list[Rule]:
    """The rules that a choice of codes and a level leave.

    Raises:
        LintUsageError: a level does not exist, or a code is no rule's and no prefix of one.
    """
    if level not in ("E", "W", "I"):
        raise LintUsageError(f"level is {level!r}; it must be one of E, W, I.")
    codes = [rule.code for rule in all_rules()]
    for wanted in (*(select or ()), *(ignore or ())):
        if not wanted or not any(code.startswith(wanted) for code in codes):
            raise LintUsageError(f"{wanted!r} is no rule and no prefix of one; rules are {codes[0]} to {codes[-1]}.")
    return [
        rule
        for rule in all_rules()
        if "EWI".index(rule.level) <= "EWI".index(level)
        and (select is None or rule.code.startswith(tuple(select)))
        and not rule.code.startswith(tuple(ignore or ()))
    ]


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    """Trees are millions of live objects; to visit them again and again is a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _run(rules: Iterable[Rule], project: Project) -> Iterator[Finding]:
    for module in project.modules:
        found = {f for rule in rules for f in _apply(rule, module, project)}
        superseded = {
            (code, f.line, f.column) for rule in rules for f in found if f.code == rule.code for code in rule.supersedes
        }
        for finding in found:
            silenced = module.suppressions.silence(finding.code, finding.line, finding.end_line)
            if not silenced and (finding.code, finding.line, finding.column) not in superseded:
                yield finding


def _apply(rule: Rule, module: Module, project: Project) -> Iterator[Finding]:
    try:
        hits = list(rule.check(module, project))
    except Exception as error:
        raise RuleCrashError(
            f"rule {rule.code} failed on {module.path} with {type(error).__name__}: {error}. "
            f"Please report it; --ignore {rule.code} leaves the rule out."
        ) from error
    for hit in hits:
        yield _finding(rule, module, hit)


def _finding(rule: Rule, module: Module, hit: Hit) -> Finding:
    node, detail = hit if isinstance(hit, tuple) else (hit, "")
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    end_line = getattr(node, "end_lineno", None) or line
    end_column = getattr(node, "end_col_offset", None) or column
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While)):
        end_line, end_column = line, column  # the header, not the body
    return Finding(
        path=module.path,
        line=line,
        column=module.characters(line, column) + 1,
        end_line=end_line,
        end_column=module.characters(end_line, end_column) + 1,
        code=rule.code,
        level=rule.level,
        summary=rule.summary,
        detail=detail or _excerpt(node),
    )


def _excerpt(node: ast.AST) -> str:
    text = ast.unparse(node).split("\n", 1)[0]
    return text if len(text) <= _DETAIL else text[: _DETAIL - 3] + "..."


def _read(path: str) -> Module | Finding:
    name = path.replace(os.sep, "/")
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        return _trouble(name, UNREADABLE, "This file cannot be read.", error.strerror or str(error))
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        return _trouble(name, UNREADABLE, "This file cannot be decoded.", str(error))
    return _parse(name, text)


def _parse(name: str, text: str) -> Module | Finding:
    try:
        return Module(name, text)
    except SyntaxError as error:
        return _trouble(
            name,
            UNPARSABLE,
            "This file is not Python that parses.",
            error.msg,
            error.lineno,
            error.offset,
        )
    except (ValueError, RecursionError, MemoryError) as error:
        why = str(error) or "nested too deeply"
        return _trouble(name, UNPARSABLE, "This file is not Python that parses.", why)


def _trouble(path: str, code: str, summary: str, why: str, line: int | None = 1, column: int | None = 1) -> Finding:
    line, column = max(line or 1, 1), max(column or 1, 1)
    return Finding(path, line, column, line, column, code, "E", summary, why)
