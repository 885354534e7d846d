"""A run: what is to be made, and what it left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from reproseed.verify.metrics import Point
from reproseed.verify.states import FinalState


@dataclass(frozen=True)
class Job:
    """One run to make.

    Attributes:
        name: unique, such as `resume-0`; also its folder.
        seed: the master seed; None for an unseeded run.
        first_epoch, last_epoch: where it begins and stops, the latter excluded.
        total_epochs: the epochs of a full run.
        resume_from: the name of the job whose checkpoint it starts from, or "".
        task_seeds: master seeds of single tasks, or "".
    """

    name: str
    arm: str
    repeat: int
    seed: int | None
    first_epoch: int
    last_epoch: int
    total_epochs: int
    resume_from: str = ""
    task_seeds: str = ""


@dataclass
class RunRecord:
    """One run as it was made, and what it left.

    Attributes:
        argv: the argument vector that was run.
        env: the variables that were set for it beside the caller's.
        directory: its folder, with `output.log`, the metrics, the checkpoint and the state.
        rc: its exit code; None if it was killed, or never started.
        status: "ok", "failed", "timed out" or "skipped".
        output_tail: the last lines that it printed.
        problem: what is wrong with it, in words; "" if nothing.
    """

    job: Job
    argv: list[str]
    env: dict[str, str]
    directory: Path
    rc: int | None = None
    seconds: float = 0.0
    status: str = "ok"
    output_tail: str = ""
    problem: str = ""
    points: list[Point] = field(default_factory=list)
    state: FinalState = field(default_factory=FinalState)

    @property
    def name(self) -> str:
        """The run's name, such as `resume-0`."""
        return self.job.name

    @property
    def ok(self) -> bool:
        """Whether the run ended by itself with exit code 0."""
        return self.status == "ok"


Progress = Callable[[RunRecord, int, int, "float | None"], None]
"""Called after each run with its record, runs done, runs in all, and seconds left (estimated)."""
