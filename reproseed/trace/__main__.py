"""``python -m reproseed.trace trace ...`` and ``... diff ...``: the commands without the command line's extra."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from reproseed.trace.commands import run_diff, run_trace
from reproseed.trace.format import LEVELS


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the arguments and run the command."""
    parser = argparse.ArgumentParser(prog="python -m reproseed.trace", allow_abbrev=False)
    commands = parser.add_subparsers(dest="what", required=True)
    trace = commands.add_parser("trace", help="run a command and record it", allow_abbrev=False)
    trace.add_argument("-o", "--output", default="trace.jsonl.gz")
    trace.add_argument("--level", default="tensors", choices=LEVELS)
    trace.add_argument("--steps", help="optimizer steps to record, such as 0:200")
    trace.add_argument("--at", help="one step to record, such as 1:8 (epoch and step)")
    trace.add_argument("command", nargs=argparse.REMAINDER, help="-- python train.py ...")
    diff = commands.add_parser("diff", help="compare two traces", allow_abbrev=False)
    diff.add_argument("traces", nargs="+")
    diff.add_argument("--json", dest="json_file", help="write the result as JSON; - prints it")
    diff.add_argument("--all", dest="show_all", action="store_true", help="show records and all notes")
    diff.add_argument("--align", default="auto", choices=("auto", "address", "tail", "resumed"))
    diff.add_argument("--ranks", action=argparse.BooleanOptionalAction, help="compare what ranks have in common")
    given = parser.parse_args(argv)
    if given.what == "diff":
        return run_diff(given.traces, given.json_file, given.show_all, given.align, given.ranks)
    command = given.command[1:] if given.command[:1] == ["--"] else given.command
    return run_trace(command, given.output, given.level, given.steps, given.at)


if __name__ == "__main__":
    sys.exit(main())
