"""Find by reading what keeps a training script from being reproducible.

Uses the standard library's ``ast`` alone: never imports or executes what it reads, and imports
neither torch nor NumPy. ``python -m reproseed.lint PATH...`` is the command.
"""

from reproseed.lint.command import explain, main, run_lint
from reproseed.lint.engine import LintUsageError, RuleCrashError, lint_paths, lint_source
from reproseed.lint.findings import Finding, Level
from reproseed.lint.output import format_github, format_json, format_sarif, format_text
from reproseed.lint.rules import Rule, all_rules

__all__ = [
    "Finding",
    "Level",
    "LintUsageError",
    "Rule",
    "RuleCrashError",
    "all_rules",
    "explain",
    "format_github",
    "format_json",
    "format_sarif",
    "format_text",
    "lint_paths",
    "lint_source",
    "main",
    "run_lint",
]
