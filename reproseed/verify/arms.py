"""The arms of a verification: which runs are made, with which seeds and epochs.

full      the seeded run of all epochs; what the others are compared with
half      the first part of it, ending in a checkpoint
resume    the rest, started from the checkpoint of the half run of the same repeat
unseeded  all epochs without a seed: must differ from one repeat to the next
other     all epochs with another seed: must differ from full
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from reproseed.verify.errors import UsageError

ARMS = ("full", "half", "resume", "unseeded", "other")
LEVELS = ("bitwise", "rounding", "statistical")
FEWEST_FOR_STATISTICS = 4


def derive_seed(master_seed: int, purpose: str, index: int = 0) -> int:
    """Return a seed in [0, 2**31) for one purpose, unrelated to those of its neighbours.

    By hash (SHA-256), since adjacent seeds share streams in scripts that add epoch or rank to
    them. 31 bits, since that is what every script takes.
    """
    message = f"reproseed.verify/1\0{master_seed}\0{purpose}\0{index}".encode()
    return int.from_bytes(hashlib.sha256(message).digest()[:4], "little") >> 1


@dataclass(frozen=True)
class Plan:
    """What to run: validated when made.

    Args:
        epochs: how many epochs the full run has, at least 2.
        half: where the half run stops and the resumed one starts; default: half of `epochs`.
        repeats: how often each arm is run; at least 2. Default: 3, or 8 for the statistical level.
        level: the level of equality that is asked for, one of `LEVELS`.
        arms: the arms to run, of `ARMS`.
        seed: the master seed of the seeded arms, in [0, 2**64).
    """

    epochs: int = 4
    half: int | None = None
    repeats: int | None = None
    level: str = "bitwise"
    arms: tuple[str, ...] = ARMS
    seed: int = 42

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise UsageError(f"level is {self.level!r}; it must be one of {', '.join(LEVELS)}.")
        self._check_arms()
        if self.repeats is None:
            object.__setattr__(self, "repeats", 8 if self.level == "statistical" else 3)
        if not 0 <= self.seed < 2**64:
            raise UsageError(f"seed is {self.seed}; it must lie in [0, 2**64).")
        fewest = FEWEST_FOR_STATISTICS if self.level == "statistical" else 2
        if self.runs_each < fewest:
            raise UsageError(
                f"repeats is {self.repeats}; the {self.level} level needs at least {fewest}"
                " (with fewer, no outcome could tell anything)."
            )
        self._check_epochs()

    def _check_arms(self) -> None:
        unknown = sorted(set(self.arms) - set(ARMS))
        if unknown:
            raise UsageError(f"unknown arm {unknown[0]!r}; the arms are {', '.join(ARMS)}.")
        if "full" not in self.arms:
            raise UsageError("the arms must include full: every other is compared with it.")
        if "resume" in self.arms and "half" not in self.arms:
            raise UsageError("the arm resume needs the arm half, from whose checkpoint it starts.")

    def _check_epochs(self) -> None:
        if "half" not in self.arms:
            return
        if self.epochs < 2:
            raise UsageError(f"epochs is {self.epochs}; to stop and resume, a run needs at least 2.")
        if self.half is None:
            object.__setattr__(self, "half", self.epochs // 2)
        if not 0 < self.stop < self.epochs:
            raise UsageError(
                f"half is {self.half} of {self.epochs} epochs; it must lie between 1 and"
                f" {self.epochs - 1}, so that both parts train."
            )

    @property
    def runs_each(self) -> int:
        """How often each arm is run."""
        return self.repeats or 0

    @property
    def stop(self) -> int:
        """The epoch at which the half run stops."""
        return self.half or 0

    def runs_of(self, arm: str) -> int:
        """How often one arm is run; `other` once, unless it is the only control."""
        if arm not in self.arms:
            return 0
        return 1 if arm == "other" and "unseeded" in self.arms else self.runs_each

    def seed_of(self, arm: str, repeat: int) -> int | None:
        """The master seed of one run; None where it has none."""
        if arm == "unseeded":
            return None
        return derive_seed(self.seed, "other", repeat) if arm == "other" else self.seed

    def epochs_of(self, arm: str) -> tuple[int, int]:
        """First and last epoch of an arm, the last excluded."""
        if arm == "half":
            return 0, self.stop
        return (self.stop if arm == "resume" else 0), self.epochs

    def chains(self) -> list[list[tuple[str, int]]]:
        """Runs as (arm, repeat), in chains whose members must follow each other.

        The first of every arm come first, so that a broken arm shows early.
        """
        most = max(self.runs_of(arm) for arm in self.arms)
        return [
            [(name, repeat) for name in group]
            for repeat in range(most)
            for group in self._groups()
            if repeat < self.runs_of(group[0])
        ]

    def _groups(self) -> list[Sequence[str]]:
        groups: list[Sequence[str]] = [["full"]]
        if "half" in self.arms:
            groups.append(["half", "resume"] if "resume" in self.arms else ["half"])
        return groups + [[arm] for arm in ("unseeded", "other") if arm in self.arms]
