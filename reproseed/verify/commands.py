"""What the command line calls: functions that print, write files and return an exit code.

0 passed at the asked level; 1 divergence; 2 wrong usage; 3 a run failed or timed out; 4 undecided,
or a control that is dead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reproseed.verify.errors import VerifyError
from reproseed.verify.runs import Progress, RunRecord

if TYPE_CHECKING:
    from rich.console import Console

    from reproseed.verify.saved import Saved

USAGE = 2
BROKEN = 3


def run_verify(
    command: Sequence[str],
    *,
    json: str | None = None,
    console: Console | None = None,
    out: str | Path = "reproseed-verify",
    **options: Any,
) -> int:
    """Verify a command: run, print, write page, pictures and JSON; return the exit code.

    Args:
        command: the argument vector, with placeholders.
        json: a further file for the report as JSON; `-` prints it.
        console: where to print; default: the terminal.
        out: the folder for runs and report.
        **options: those of `reproseed.verify.verify`.
    """
    from reproseed.verify.api import verify
    from reproseed.verify.tables import print_report

    def action(console: Console, progress: Progress) -> int:
        report = verify(command, out=out, progress=progress, **options)
        _deliver(report, lambda: print_report(report, console), json, console)
        return report.exit_code

    return _run(action, console, quiet=json == "-")


def run_study(
    command: Sequence[str],
    *,
    json: str | None = None,
    console: Console | None = None,
    out: str | Path = "reproseed-study",
    **options: Any,
) -> int:
    """Study which source of randomness moves a metric how much; return the exit code.

    Args as for `run_verify`; `options` are those of `reproseed.verify.study_variance`.
    """
    from reproseed.verify.study import print_study, study_variance

    def action(console: Console, progress: Progress) -> int:
        report = study_variance(command, out=out, progress=progress, **options)
        _deliver(report, lambda: print_study(report, console), json, console)
        return report.exit_code

    return _run(action, console, quiet=json == "-")


def run_compare(
    first: str | Sequence[str],
    second: str | Sequence[str],
    *,
    json: str | None = None,
    console: Console | None = None,
    out: str | Path = "reproseed-compare",
    **options: Any,
) -> int:
    """Compare two commands with paired seeds; return the exit code.

    Args as for `run_verify`; `options` are those of `reproseed.verify.compare_versions`.
    """
    from reproseed.verify.compare import compare_versions, print_compare

    def action(console: Console, progress: Progress) -> int:
        report = compare_versions(first, second, out=out, progress=progress, **options)
        _deliver(report, lambda: print_compare(report, console), json, console)
        return report.exit_code

    return _run(action, console, quiet=json == "-")


def _deliver(report: Saved, show: Callable[[], None], json: str | None, console: Console) -> None:
    """Write page, pictures and JSON, and print what the terminal gets."""
    page = report.save()
    if json != "-":
        show()
        console.print(f"\nPage: {_near(page)}", highlight=False, soft_wrap=True)
    _write_json(report.to_json(), json, console)


def _run(action: Callable[[Console, Progress], int], console: Console | None, *, quiet: bool) -> int:
    from rich.console import Console

    console = console or Console()
    try:
        # Progress goes to standard error, so that the output can be piped.
        with _progress(Console(stderr=True, quiet=quiet)) as progress:
            return action(console, progress)
    except VerifyError as error:
        console.print(f"[bold red]{type(error).__name__}[/]: ", end="")
        console.print(str(error), markup=False, highlight=False)
        return USAGE
    except Exception:
        # Left to Python, it would end with 1, which stands for a divergence.
        console.print_exception(max_frames=8)
        return BROKEN


@contextmanager
def _progress(console: Console) -> Iterator[Progress]:
    """Show runs done and the time left on a terminal, and one line a run in a log."""
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:.0f}/{task.total:.0f} runs, {task.fields[left]}"),
    )
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("running", total=None, left="")

        def show(record: RunRecord, done: int, total: int, left: float | None) -> None:
            time_left = "" if left is None or done == total else f"about {duration(left)} left"
            bar.update(task, completed=done, total=total, left=time_left, description=record.name)
            if not console.is_terminal:
                text = f"[{done}/{total}] {record.name}: {record.status}, {record.seconds:.1f} s"
                console.print(f"{text}. {time_left}".rstrip(), markup=False, highlight=False)
            elif not record.ok:
                console.print(f"{record.name} {record.status}: {record.problem}", markup=False)
            if done == total:
                bar.stop()  # what follows is printed below, not behind, the bar

        yield show


def duration(seconds: float) -> str:
    """Return a time span in words, as fine as it is known.

    >>> duration(75), duration(4.2), duration(7500)
    ('1 min 15 s', '4 s', '2 h 5 min')
    """
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"


def _write_json(text: str, where: str | None, console: Console) -> None:
    if where == "-":
        console.out(text, end="", highlight=False)
    elif where:
        Path(where).write_text(text, encoding="utf-8")


def _near(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
