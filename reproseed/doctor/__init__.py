"""`reproseed doctor`: what in this environment, process or script keeps runs from being the same, and what to do."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from reproseed.doctor.alive import examine_objects
from reproseed.doctor.findings import Finding, Level
from reproseed.doctor.process import examine_process
from reproseed.doctor.render import render
from reproseed.doctor.script import DoctorError, examine_script
from reproseed.errors import ReproseedError

__all__ = ["DoctorError", "Finding", "Level", "examine", "main", "render", "run_doctor"]


def examine(script: str | None = None) -> list[Finding]:
    """Return what there is to say of this process and, from its text, of a script. Changes nothing, draws nothing.

    Called inside a training it sees what is alive there: generators and whether they are registered, loaders with
    persistent workers, flags that were asked for and are not in force.

    Args:
        script: path of a Python file, which is read and not run.

    Raises:
        DoctorError: the script cannot be read.

    >>> [finding.topic for finding in examine()][0]
    'versions'
    """
    findings = [*examine_process(), *examine_objects()]
    if script is not None:
        findings += examine_script(script)
    return list(dict.fromkeys(findings))


def run_doctor(script: str | None = None, *, as_json: bool = False, everything: bool = False) -> int:
    """Examine, and print a table or JSON; the command ``reproseed doctor``.

    Args:
        script: path of a Python file to look at.
        as_json: print all findings as a JSON list.
        everything: show what is well in the table too.

    Returns:
        0 if there is no problem, 1 if there is one, 2 if the examination failed.
    """
    try:
        findings = examine(script)
        if as_json:
            sys.stdout.write(json.dumps([finding.to_plain() for finding in findings], indent=2) + "\n")
        else:
            render(findings, everything=everything)
    except ReproseedError as error:
        sys.stderr.write(f"reproseed doctor: {error}\n")
        return 2
    return int(any(finding.level == "problem" for finding in findings))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``python -m reproseed.doctor``."""
    parser = argparse.ArgumentParser(prog="reproseed doctor", description=__doc__)
    parser.add_argument("script", nargs="?", help="a Python file, which is read and not run")
    parser.add_argument("--json", action="store_true", help="all findings as JSON")
    parser.add_argument("--all", action="store_true", help="show what is well, too")
    given = parser.parse_args(arguments)
    return run_doctor(given.script, as_json=given.json, everything=given.all)
