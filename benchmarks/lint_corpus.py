"""Precision and recall of the linter's rules on a corpus of small training scripts.

    python benchmarks/lint_corpus.py

A case in ``tests/lint/corpus`` is a file, or a folder of files that are linted as one project. In
``bad`` each line with a fault says so, ``# expect: RS101``; ``good`` holds none, near misses
included. All levels are reported. A finding on a marked line is a hit, any other a false alarm, a
marked line without one a miss.
"""

import argparse
import collections
import dataclasses
import pathlib
import re
import sys
from collections.abc import Iterator

from reproseed.lint import all_rules, lint_paths

CORPUS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "lint" / "corpus"
_MARK = re.compile(r"#\s*expect:\s*([\w, ]+)")


@dataclasses.dataclass(frozen=True)
class Case:
    """One project of the corpus.

    Attributes:
        path: the file or folder.
        is_bad: whether it has faults.
    """

    path: pathlib.Path
    is_bad: bool

    @property
    def name(self) -> str:
        """The path below the corpus."""
        return self.path.relative_to(CORPUS).as_posix()


def cases() -> list[Case]:
    """All cases of the corpus, sorted."""
    return [
        Case(path, kind == "bad")
        for kind in ("bad", "good")
        for path in sorted(CORPUS.glob(f"*/{kind}/*"))
        if path.suffix == ".py" or path.is_dir()
    ]


def expected(case: Case) -> collections.Counter[tuple[str, int, str]]:
    """The marked faults of a case: file, line and code."""
    return collections.Counter(_marks(case))


def found(case: Case) -> collections.Counter[tuple[str, int, str]]:
    """What the linter finds in a case at all levels."""
    findings = lint_paths([case.path], level="I")
    return collections.Counter((pathlib.Path(f.path).relative_to(CORPUS).as_posix(), f.line, f.code) for f in findings)


@dataclasses.dataclass
class Score:
    """Counts for one rule; ``missed`` and ``false`` name the places."""

    hits: int = 0
    missed: list[str] = dataclasses.field(default_factory=list)
    false: list[str] = dataclasses.field(default_factory=list)

    @property
    def precision(self) -> float:
        """Share of findings that are faults; 1 if there is no finding."""
        return self.hits / max(1, self.hits + len(self.false)) if self.hits or self.false else 1.0

    @property
    def recall(self) -> float:
        """Share of faults that are found; 1 if there is no fault."""
        return self.hits / max(1, self.hits + len(self.missed)) if self.hits or self.missed else 1.0


def measure() -> dict[str, Score]:
    """Score every rule on the whole corpus."""
    scores = {rule.code: Score() for rule in all_rules()}
    for case in cases():
        wanted, got = expected(case), found(case)
        for place, count in (wanted & got).items():
            scores[place[2]].hits += count
        for file, line, code in (wanted - got).elements():
            scores[code].missed.append(f"{file}:{line}")
        for file, line, code in (got - wanted).elements():
            scores.setdefault(code, Score()).false.append(f"{file}:{line}")
    return scores


def main() -> int:
    """Print the table; return 1 if anything is missed or falsely found."""
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args()
    scores = measure()
    whole = Score()
    print(f"{'rule':6} {'faults':>6} {'hits':>5} {'false':>5} {'precision':>9} {'recall':>7}")
    for code, score in scores.items():
        print(_row(code, score))
        whole.hits += score.hits
        whole.missed += [f"{code} missed  {place}" for place in score.missed]
        whole.false += [f"{code} false   {place}" for place in score.false]
    print(_row("all", whole))
    bad = sum(case.is_bad for case in cases())
    print(f"{bad} bad and {len(cases()) - bad} good scripts or projects")
    print("\n".join(whole.missed + whole.false))
    return 1 if whole.missed or whole.false else 0


def _marks(case: Case) -> Iterator[tuple[str, int, str]]:
    files = sorted(case.path.rglob("*.py")) if case.path.is_dir() else [case.path]
    for file in files:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
            if mark := _MARK.search(line):
                for code in mark.group(1).split(","):
                    yield file.relative_to(CORPUS).as_posix(), number, code.strip()


def _row(name: str, score: Score) -> str:
    faults = score.hits + len(score.missed)
    return f"{name:6} {faults:6} {score.hits:5} {len(score.false):5} {score.precision:9.3f} {score.recall:7.3f}"


if __name__ == "__main__":
    sys.exit(main())
