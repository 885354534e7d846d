"""What the command line does: lint, write the report, return an exit code."""

import argparse
import sys
import textwrap
from collections.abc import Sequence
from typing import TextIO

from reproseed.lint.engine import LintUsageError, lint_paths
from reproseed.lint.findings import Level
from reproseed.lint.output import FORMATS
from reproseed.lint.rules import all_rules

CLEAN, FINDINGS, USAGE, INTERNAL = 0, 1, 2, 3


def run_lint(
    paths: Sequence[str],
    *,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    level: Level = "W",
    exclude: Sequence[str] = (),
    form: str = "text",
    output: TextIO | None = None,
) -> int:
    """Lint ``paths`` and write a report; the body of the command.

    Args:
        paths: files and folders.
        select: codes or prefixes to report; None for all.
        ignore: codes or prefixes not to report.
        level: least grave level to report: ``"E"``, ``"W"`` or ``"I"``.
        exclude: glob patterns to leave out.
        form: ``"text"``, ``"json"``, ``"sarif"`` or ``"github"``.
        output: where the report goes; standard output by default.

    Returns:
        0 clean, 1 findings, 2 wrong use, 3 a fault of the linter; the last two write to stderr why.
    """
    try:
        if form not in FORMATS:
            raise LintUsageError(f"format is {form!r}; it must be one of {', '.join(FORMATS)}.")
        findings = lint_paths(paths, select=select, ignore=ignore, level=level, exclude=exclude)
        (output or sys.stdout).write(FORMATS[form](findings))
    except LintUsageError as error:
        sys.stderr.write(f"reproseed lint: {error}\n")
        return USAGE
    except Exception as error:
        sys.stderr.write(f"reproseed lint: internal error: {type(error).__name__}: {error}\n")
        return INTERNAL
    return FINDINGS if findings else CLEAN


def explain(code: str) -> str:
    """The whole message of a rule: what, why and what to write instead.

    Raises:
        LintUsageError: there is no such rule.
    """
    for rule in all_rules():
        if rule.code == code.upper():
            bad = textwrap.indent(rule.bad[0].strip("\n"), "    ")
            good = textwrap.indent(rule.good[0].strip("\n"), "    ")
            return (
                f"{rule.code} {rule.name} ({rule.level})\n{rule.summary}\n\n{rule.why}\n\n"
                f"Found in:\n\n{bad}\n\nNot in:\n\n{good}\n"
            )
    raise LintUsageError(f"{code!r} is no rule; `python -m reproseed.lint --list-rules` shows them all.")


def main(argv: Sequence[str] | None = None) -> int:
    """``python -m reproseed.lint``: parse arguments and call ``run_lint``."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.list_rules:
        sys.stdout.writelines(f"{r.code} {r.level} {r.summary}\n" for r in all_rules())
        return CLEAN
    if options.explain:
        try:
            sys.stdout.write(explain(options.explain))
        except LintUsageError as error:
            parser.error(str(error))
        return CLEAN
    if not options.paths:
        parser.error("nothing to lint; name files or folders, such as `.`.")
    return run_lint(
        options.paths,
        select=options.select,
        ignore=options.ignore,
        level=options.level,
        exclude=options.exclude,
        form=options.format,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m reproseed.lint",
        description="Find what keeps a training script from being reproducible, by reading.",
        epilog="Exit codes: 0 clean, 1 findings, 2 wrong use, 3 internal error.",
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files and folders, linted as one project")
    parser.add_argument("--select", type=_codes, help="only these codes or prefixes: RS1,RS203")
    parser.add_argument("--ignore", type=_codes, help="not these codes or prefixes")
    parser.add_argument("--level", choices=("E", "W", "I"), default="W", help="least grave level shown (default W)")
    parser.add_argument("--exclude", action="append", default=[], metavar="GLOB", help="leave out; may be repeated")
    parser.add_argument("--format", choices=tuple(FORMATS), default="text", help="default text")
    parser.add_argument("--explain", metavar="CODE", help="print why a rule is there and what to write")
    parser.add_argument("--list-rules", action="store_true", help="print all rules")
    return parser


def _codes(text: str) -> list[str]:
    return [code.strip().upper() for code in text.split(",") if code.strip()]
