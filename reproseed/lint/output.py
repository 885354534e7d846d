"""Findings as text, JSON, SARIF 2.1.0 and GitHub annotations: pure functions to a string.

Sources: SARIF version 2.1.0 (OASIS standard, 27 March 2020); workflow commands of GitHub Actions.
"""

import collections
import json
from collections.abc import Callable, Sequence
from urllib.parse import quote

from reproseed.lint.findings import Finding, Level
from reproseed.lint.rules import all_rules

JSON_VERSION = "reproseed.lint/1"
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SARIF_LEVEL: dict[Level, str] = {"E": "error", "W": "warning", "I": "note"}
_GITHUB_LEVEL: dict[Level, str] = {"E": "error", "W": "warning", "I": "notice"}


def format_text(findings: Sequence[Finding]) -> str:
    """One ``file:line:column: code level message`` a line, then a count; nothing if there is none.

    >>> finding = Finding("a.py", 3, 1, 3, 9, "RS106", "E", "From the OS.", "random.seed()")
    >>> print(format_text([finding]), end="")
    a.py:3:1: RS106 E From the OS. [random.seed()]
    1 finding in 1 file. --explain RS106 says why, and what to write instead.
    """
    if not findings:
        return ""
    lines = [f"{f.path}:{f.line}:{f.column}: {f.code} {f.level} {f.message}" for f in findings]
    files = len({f.path for f in findings})
    total = f"{_count(len(findings), 'finding')} in {_count(files, 'file')}."
    explained = {rule.code for rule in all_rules()}
    for code in [f.code for f in findings if f.code in explained][:1]:
        total += f" --explain {code} says why, and what to write instead."
    lines.append(total)
    return "\n".join(lines) + "\n"


def format_json(findings: Sequence[Finding]) -> str:
    """An object with the format's version, counts by code, and the findings."""
    return _dump(
        {
            "format": JSON_VERSION,
            "counts": dict(sorted(collections.Counter(f.code for f in findings).items())),
            "findings": [
                {
                    "path": f.path,
                    "line": f.line,
                    "column": f.column,
                    "end_line": f.end_line,
                    "end_column": f.end_column,
                    "code": f.code,
                    "level": f.level,
                    "summary": f.summary,
                    "detail": f.detail,
                }
                for f in findings
            ],
        }
    )


def format_sarif(findings: Sequence[Finding]) -> str:
    """A SARIF 2.1.0 log with one run, for code scanning."""
    rules = [
        {
            "id": rule.code,
            "name": "".join(part.capitalize() for part in rule.name.split("-")),
            "shortDescription": {"text": rule.summary},
            "fullDescription": {"text": rule.why},
            "help": {"text": rule.why},
            "defaultConfiguration": {"level": _SARIF_LEVEL[rule.level]},
        }
        for rule in all_rules()
    ]
    driver = {"name": "reproseed lint", "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(f) for f in findings],
    }
    return _dump({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def format_github(findings: Sequence[Finding]) -> str:
    """One workflow command a line, which GitHub shows beside the code."""
    return "".join(
        f"::{_GITHUB_LEVEL[f.level]} file={_property(f.path)},line={f.line},endLine={f.end_line},"
        f"col={f.column},title={_property(f.code)}::{_data(f.message)}\n"
        for f in findings
    )


FORMATS: dict[str, Callable[[Sequence[Finding]], str]] = {
    "text": format_text,
    "json": format_json,
    "sarif": format_sarif,
    "github": format_github,
}


def _sarif_result(finding: Finding) -> dict[str, object]:
    region = {
        "startLine": finding.line,
        "startColumn": finding.column,
        "endLine": finding.end_line,
        "endColumn": finding.end_column,
    }
    location = {"artifactLocation": {"uri": quote(finding.path)}, "region": region}
    return {
        "ruleId": finding.code,
        "level": _SARIF_LEVEL[finding.level],
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": location}],
    }


def _dump(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
