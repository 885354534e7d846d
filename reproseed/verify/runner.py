"""Runs the jobs of a plan, each in a fresh process, and collects what they left.

All runs get the same number of threads and, on purpose, another PYTHONHASHSEED and another
working directory each: what depends on the order of a set or on where it runs shows. The
working directory is a private one with a link to everything in the caller's, so that relative paths
work and files that a script writes do not meet those of another run.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import shutil
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reproseed.verify.arms import derive_seed
from reproseed.verify.errors import MissingPackageError, UsageError, VerifyError
from reproseed.verify.metrics import select
from reproseed.verify.process import Outcome, Processes
from reproseed.verify.readers import MetricsSource
from reproseed.verify.runs import Job, Progress, RunRecord
from reproseed.verify.states import read_final_state
from reproseed.verify.template import Template

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS",
           "VECLIB_MAXIMUM_THREADS")  # fmt: skip
VARIED = ("hashseed", "cwd")
TAIL_LINES = 30
TAIL_CHARACTERS = 4000


@dataclass
class Runner:
    """How to run jobs.

    Args:
        template: the command.
        out: the folder for all that the runs leave; made if missing.
        source: where the metrics are.
        metrics, ignore: patterns of metric names to use, and not to use.
        vary: what is varied on purpose from run to run, of `VARIED`.
        jobs: how many run at once.
        timeout: seconds a run may take; None for any time.
        threads: threads of every run; default OMP_NUM_THREADS, else all cores shared by `jobs`.
        progress: called after each run, from any thread.
    """

    template: Template
    out: Path
    source: MetricsSource = field(default_factory=MetricsSource)
    metrics: Sequence[str] = ()
    ignore: Sequence[str] = ()
    vary: Sequence[str] = VARIED
    jobs: int = 1
    timeout: float | None = None
    threads: int | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise UsageError(f"jobs is {self.jobs}; at least one run must be made at a time.")
        if self.timeout is not None and self.timeout <= 0:
            raise UsageError(f"timeout is {self.timeout}; it must be a positive number of seconds.")
        unknown = sorted(set(self.vary) - set(VARIED))
        if unknown:
            raise UsageError(f"cannot vary {unknown[0]!r}; what can be varied: {', '.join(VARIED)}.")
        self.out = Path(self.out).resolve()
        self.threads = _default_threads(self.jobs) if self.threads is None else self.threads
        if self.threads < 1:
            raise UsageError(f"threads is {self.threads}; it must be at least 1.")

    def run(self, chains: Sequence[Sequence[Job]]) -> list[RunRecord]:
        """Run chains of jobs; members of one follow each other. A failed one stops nothing else.

        Returns:
            The records, in the order of the jobs.
        """
        self.out.mkdir(parents=True, exist_ok=True)
        processes = Processes()
        clock = _Clock([job for chain in chains for job in chain], self.jobs, self.progress)
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            futures = [pool.submit(self._chain, chain, processes, clock) for chain in chains]
            try:
                return [record for future in futures for record in future.result()]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                processes.stop()
                raise

    def _chain(self, chain: Sequence[Job], processes: Processes, clock: _Clock) -> list[RunRecord]:
        records: list[RunRecord] = []
        for job in chain:
            before = {record.name: record for record in records}.get(job.resume_from)
            records.append(self._one(job, before, processes))
            clock.done(records[-1])
        return records

    def _one(self, job: Job, before: RunRecord | None, processes: Processes) -> RunRecord:
        directory = self.out / job.name
        shutil.rmtree(directory, ignore_errors=True)
        (directory / "out").mkdir(parents=True)
        values = self._values(job, directory)
        record = RunRecord(job, self.template.fill(values), self._variables(job, values), directory)
        if before is not None:
            record.problem = self._no_checkpoint(before)
            if record.problem:
                record.status = "skipped"
                return record
        work = self._working_directory(directory)
        outcome = processes.run(
            record.argv,
            directory=work,
            environment=_inherited() | record.env,
            output=directory / "output.log",
            timeout=self.timeout,
        )
        self._collect(record, outcome, values, work)
        if work != Path.cwd():
            _remove_links(work)
        return record

    def _values(self, job: Job, directory: Path) -> dict[str, str]:
        resume = str(checkpoint_of(self.out / job.resume_from)) if job.resume_from else ""
        return {
            "epochs": str(job.last_epoch),
            "total_epochs": str(job.total_epochs),
            "start_epoch": str(job.first_epoch),
            "seed": "" if job.seed is None else str(job.seed),
            "resume": resume,
            "save": str(directory / "checkpoint"),
            "metrics": str(directory / "metrics"),
            "out": str(directory / "out"),
            "arm": job.arm,
            "repeat": str(job.repeat),
        }

    def _variables(self, job: Job, values: Mapping[str, str]) -> dict[str, str]:
        env = {f"REPROSEED_{name.upper()}": value for name, value in values.items() if value}
        env.pop("REPROSEED_SEED", None)
        if job.seed is None:
            env["REPROSEED_SEEDING"] = "off"
        else:
            env["REPROSEED_MASTER_SEED"] = str(job.seed)
        if job.task_seeds:
            env["REPROSEED_TASK_SEEDS"] = job.task_seeds
        env["REPROSEED_FINAL_STATE"] = str(self.out / job.name / "final_state.json")
        env |= dict.fromkeys(THREADS, str(self.threads))
        # Else the end of the output of a run that was killed would be lost in its buffer.
        env["PYTHONUNBUFFERED"] = "1"
        if "hashseed" in self.vary:
            env["PYTHONHASHSEED"] = str(derive_seed(0, job.name) + 1)
        else:
            env["PYTHONHASHSEED"] = os.environ.get("PYTHONHASHSEED", "0")
        return env

    def _working_directory(self, directory: Path) -> Path:
        if "cwd" not in self.vary:
            return Path.cwd()
        work = directory / "work"
        work.mkdir()
        for entry in Path.cwd().iterdir():
            if entry != self.out and entry not in self.out.parents:
                (work / entry.name).symlink_to(entry.resolve())
        return work

    def _no_checkpoint(self, half: RunRecord) -> str:
        if not half.ok:
            return f"not run: {half.name}, whose checkpoint it starts from, {half.status}"
        # A script that saves elsewhere, and is told by {out} or its own means, is not refused.
        if "save" in self.template.names and not checkpoint_of(half.directory).exists():
            return f"not run: {half.name} left no checkpoint at {{save}}"
        return ""

    def _collect(self, record: RunRecord, outcome: Outcome, values: dict[str, str], work: Path) -> None:
        record.rc, record.seconds = outcome.rc, outcome.seconds
        record.output_tail = _tail(record.directory / "output.log")
        if outcome.timed_out:
            record.status = "timed out"
            record.problem = f"killed after {self.timeout:g} s, with all processes that it started"
        elif outcome.problem or outcome.rc != 0:
            record.status = "failed"
            last = (record.output_tail.splitlines() or [""])[-1].strip()[:200]
            ended = f"ended with exit code {outcome.rc}" + (f": {last}" if last else "")
            record.problem = outcome.problem or ended
        try:
            points = self.source.read(values, work, record.directory / "output.log")
            record.points = select(points, self.metrics, self.ignore)
            record.state = read_final_state(record.directory / "final_state.json", checkpoint_of(record.directory))
        except MissingPackageError:
            raise
        except (VerifyError, OSError, ValueError) as error:
            record.status = "failed"
            record.problem = record.problem or str(error)


class _Clock:
    """Counts runs and estimates the time left from the epochs that are done."""

    def __init__(self, jobs: Sequence[Job], parallel: int, report: Progress | None) -> None:
        self._all, self._count = sum(map(_epochs, jobs)), len(jobs)
        self._parallel, self._report = parallel, report
        self._done, self._epochs, self._seconds = 0, 0, 0.0
        self._lock = threading.Lock()

    def done(self, record: RunRecord) -> None:
        with self._lock:
            self._count_in(record)

    def _count_in(self, record: RunRecord) -> None:
        self._done += 1
        if record.status != "skipped":
            self._seconds += record.seconds
            self._epochs += _epochs(record.job)
        else:
            self._all -= _epochs(record.job)
        left = None
        if self._epochs:
            per_epoch = self._seconds / self._epochs
            left = per_epoch * (self._all - self._epochs) / self._parallel
        if self._report is not None:
            self._report(record, self._done, self._count, left)


def checkpoint_of(directory: Path) -> Path:
    """Return the path of a run's checkpoint: some writers add an ending to the name they get."""
    named = sorted(directory.glob("checkpoint.*"))
    exact = directory / "checkpoint"
    return named[0] if len(named) == 1 and not exact.exists() else exact


def _epochs(job: Job) -> int:
    return max(job.last_epoch - job.first_epoch, 1)


def _default_threads(jobs: int) -> int:
    given = os.environ.get("OMP_NUM_THREADS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)) // jobs)
    return max(1, (os.cpu_count() or 1) // jobs)


def _inherited() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith("REPROSEED_")}


def _remove_links(work: Path) -> None:
    for entry in work.iterdir():
        if entry.is_symlink():
            entry.unlink()
    with contextlib.suppress(OSError):  # it holds what the script wrote
        work.rmdir()


def _tail(output: Path) -> str:
    if not output.exists():
        return ""
    with output.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - TAIL_CHARACTERS))
        text = file.read().decode("utf-8", errors="replace")
    return "\n".join(text.rstrip().splitlines()[-TAIL_LINES:])
