"""The application of the command line: one function a subcommand, each a thin call of the module that does the work."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from reproseed.verify.__main__ import app as verify_commands


class LintForm(str, Enum):
    """Forms of the linter's report."""

    text = "text"
    json = "json"
    sarif = "sarif"
    github = "github"


class LintLevel(str, Enum):
    """Levels of findings, the gravest first."""

    E = "E"
    W = "W"
    I = "I"  # noqa: E741 - the level's own name


app = typer.Typer(add_completion=False, pretty_exceptions_show_locals=False)

# The commands of a part that has its own are taken over as they are.
app.registered_commands += verify_commands.registered_commands


@app.callback(invoke_without_command=True)
def version_option(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Make PyTorch training reproducible, and prove it."""
    if version:
        import reproseed

        typer.echo(reproseed.__version__)
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def lint(
    paths: Annotated[list[str], typer.Argument(help="Files and folders; they are read, never run.")],
    select: Annotated[list[str] | None, typer.Option(help="Codes or prefixes to report.")] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="Codes or prefixes not to report.")] = None,
    level: Annotated[LintLevel, typer.Option(help="The least grave level to report.")] = LintLevel.W,
    exclude: Annotated[list[str] | None, typer.Option(help="Glob patterns to leave out.")] = None,
    form: Annotated[LintForm, typer.Option("--format", help="Form of the report.")] = LintForm.text,
    explain: Annotated[bool, typer.Option(help="Say what the given codes mean, instead of linting.")] = False,
) -> None:
    """Find by reading what keeps a training from being reproducible; exit code 1 if there is something."""
    from reproseed.lint.command import explain as explain_code
    from reproseed.lint.command import run_lint
    from reproseed.lint.engine import LintUsageError

    if explain:
        try:
            for path in paths:
                typer.echo(explain_code(path))
        except LintUsageError as error:
            typer.echo(f"reproseed lint: {error}", err=True)
            raise typer.Exit(2) from None
        return
    code = run_lint(paths, select=select, ignore=ignore, level=level.value, exclude=exclude or (), form=form.value)
    raise typer.Exit(code)


@app.command()
def doctor(
    script: Annotated[str | None, typer.Argument(help="A Python file to look at; it is read, never run.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all findings as JSON.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Show what is well, too.")] = False,
) -> None:
    """Say what in this environment, and in a script, keeps runs from being repeated, and what to do about it."""
    from reproseed.doctor import run_doctor

    raise typer.Exit(run_doctor(script, as_json=as_json, everything=everything))


class TraceLevel(str, Enum):
    """How much a trace records, the least first."""

    rng = "rng"
    state = "state"
    tensors = "tensors"
    ops = "ops"


class Align(str, Enum):
    """How the places of two traces are matched."""

    auto = "auto"
    address = "address"
    tail = "tail"


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def trace(
    command: Annotated[list[str], typer.Argument(help="The command to run, after --.")],
    output: Annotated[
        str, typer.Option("-o", "--output", help="The file; {rank} becomes the rank.")
    ] = "trace.jsonl.gz",
    level: Annotated[TraceLevel, typer.Option(help="How much is recorded.")] = TraceLevel.tensors,
    steps: Annotated[str | None, typer.Option(help="Optimizer steps to record, such as 0:200.")] = None,
    at: Annotated[str | None, typer.Option(help="One step to record, such as 1:8 (epoch and step).")] = None,
) -> None:
    """Run a training script unchanged, and record where its bits come from."""
    from reproseed.trace.commands import run_trace

    raise typer.Exit(run_trace(command, output, level.value, steps, at))


@app.command()
def diff(
    traces: Annotated[list[str], typer.Argument(help="Two traces; more to compare the ranks of one run.")],
    json_file: Annotated[str | None, typer.Option("--json", help="Write the result as JSON too; - prints it.")] = None,
    show_all: Annotated[bool, typer.Option("--all", help="Show the records and all notes.")] = False,
    align: Annotated[Align, typer.Option(help="How places are matched.")] = Align.auto,
    ranks: Annotated[bool | None, typer.Option(help="Compare only what ranks have in common.")] = None,
) -> None:
    """Name the first place where two traces part, and the likely cause."""
    from reproseed.trace.commands import run_diff

    raise typer.Exit(run_diff(traces, json_file, show_all, align.value, ranks))
