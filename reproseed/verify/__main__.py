"""`python -m reproseed.verify`: the commands verify, study and compare."""

from __future__ import annotations

from typing import Annotated

import typer

from reproseed.verify import commands

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Prove that a training script is reproducible, and see what moves its results.",
)

_AFTER = {"allow_extra_args": True, "ignore_unknown_options": True}
Command = Annotated[list[str], typer.Argument(help="The command, after --, with placeholders.")]
Epochs = Annotated[int, typer.Option(help="Epochs of a full run; to stop and resume, at least 2.")]
Metrics = Annotated[str, typer.Option(help="Patterns of metric names, as loss,eval/*. Default: all.")]
MetricsFrom = Annotated[
    str | None,
    typer.Option(help="auto, jsonl, csv, dllogger or tensorboard, with :PATH; or regex:PATTERN."),
]
Jobs = Annotated[int, typer.Option(help="Runs at once.")]
Timeout = Annotated[float | None, typer.Option(help="Seconds that a run may take.")]
Threads = Annotated[int | None, typer.Option(help="Threads of every run.")]
Json = Annotated[str | None, typer.Option(help="Write the report as JSON too; - prints it.")]
Seed = Annotated[int, typer.Option(help="Master seed.")]


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


@app.command(context_settings=_AFTER)
def verify(
    command: Command,
    epochs: Epochs = 4,
    half: Annotated[int | None, typer.Option(help="Where the half run stops.")] = None,
    repeats: Annotated[int | None, typer.Option(help="Runs of each arm, at least 2. Default: 3 or 8.")] = None,
    level: Annotated[str, typer.Option(help="bitwise, rounding or statistical.")] = "bitwise",
    arms: Annotated[str, typer.Option(help="Arms to run.")] = "full,half,resume,unseeded,other",
    seed: Seed = 42,
    metrics: Metrics = "",
    ignore: Annotated[str, typer.Option(help="Patterns of metrics to leave out.")] = "",
    metrics_from: MetricsFrom = None,
    trace: Annotated[
        str, typer.Option(help="on-fail: trace the two runs that part, and name place and cause; off.")
    ] = "on-fail",
    vary: Annotated[str, typer.Option(help="What differs on purpose: hashseed,cwd or nothing.")] = "hashseed,cwd",
    out: Annotated[str, typer.Option(help="Folder for runs and report.")] = "reproseed-verify",
    jobs: Jobs = 1,
    timeout: Timeout = None,
    threads: Threads = None,
    json: Json = None,
) -> None:
    """Run a script whole, in halves, resumed, unseeded; compare bit for bit; give a verdict."""
    if trace not in ("on-fail", "off"):
        raise typer.BadParameter(f"--trace {trace!r}: allowed are on-fail and off.")
    from reproseed.trace.arms import trace_runs

    code = commands.run_verify(
        command,
        epochs=epochs,
        half=half,
        repeats=repeats,
        level=level,
        arms=_list(arms),
        seed=seed,
        metrics=_list(metrics),
        ignore=_list(ignore),
        metrics_from=metrics_from,
        vary=() if vary == "nothing" else _list(vary),
        out=out,
        jobs=jobs,
        timeout=timeout,
        threads=threads,
        json=json,
        trace=(lambda a, b: trace_runs(a, b, timeout)) if trace == "on-fail" else None,
    )
    raise typer.Exit(code)


@app.command(context_settings=_AFTER)
def study(
    command: Command,
    tasks: Annotated[str, typer.Option(help="The tasks whose streams are varied.")],
    metric: Annotated[str | None, typer.Option(help="The metric. Default: the first.")] = None,
    repeats: Annotated[int, typer.Option(help="Runs for each source, at least 4.")] = 8,
    epochs: Epochs = 4,
    seed: Seed = 42,
    metrics_from: MetricsFrom = None,
    out: Annotated[str, typer.Option(help="Folder for runs and report.")] = "reproseed-study",
    jobs: Jobs = 1,
    timeout: Timeout = None,
    threads: Threads = None,
    json: Json = None,
) -> None:
    """Vary one source of randomness at a time: which of them moves the result how much?"""
    code = commands.run_study(
        command,
        tasks=_list(tasks),
        metric=metric,
        repeats=repeats,
        epochs=epochs,
        seed=seed,
        metrics_from=metrics_from,
        out=out,
        jobs=jobs,
        timeout=timeout,
        threads=threads,
        json=json,
    )
    raise typer.Exit(code)


@app.command()
def compare(
    first: Annotated[str, typer.Argument(help="The first command, as one quoted text.")],
    second: Annotated[str, typer.Argument(help="The second command.")],
    metric: Annotated[str | None, typer.Option(help="The metric. Default: the first.")] = None,
    better: Annotated[str, typer.Option(help="lower or higher.")] = "lower",
    repeats: Annotated[int, typer.Option(help="Pairs of runs, at least 4.")] = 10,
    epochs: Epochs = 4,
    seed: Seed = 42,
    metrics_from: MetricsFrom = None,
    out: Annotated[str, typer.Option(help="Folder for runs and report.")] = "reproseed-compare",
    jobs: Jobs = 1,
    timeout: Timeout = None,
    threads: Threads = None,
    json: Json = None,
) -> None:
    """Run two versions with the same seeds: is the second better, and how sure is that?"""
    code = commands.run_compare(
        first,
        second,
        metric=metric,
        better=better,
        repeats=repeats,
        epochs=epochs,
        seed=seed,
        metrics_from=metrics_from,
        out=out,
        jobs=jobs,
        timeout=timeout,
        threads=threads,
        json=json,
    )
    raise typer.Exit(code)


if __name__ == "__main__":
    app()
