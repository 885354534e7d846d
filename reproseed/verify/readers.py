"""Readers that get a run's metrics from what scripts write.

Every reader returns points in the order in which the script reported them. JSONL is the form
of `log_metric`; CSV, DLLogger's lines, TensorBoard's event files and a regular expression on
the output serve scripts that know nothing of reproseed.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproseed.verify.errors import MetricsError, MissingPackageError
from reproseed.verify.metrics import Point


def read_auto(path: Path) -> list[Point]:
    """Read a file or folder of metrics, telling its form by its content."""
    if path.is_dir():
        return read_tensorboard(path)
    with path.open(encoding="utf-8", errors="replace") as file:
        first = next((line for line in file if line.strip()), "")
    if first.startswith("DLLL "):
        return read_dllogger(path)
    return read_jsonl(path) if first.lstrip().startswith("{") else read_csv(path)


def read_jsonl(path: Path) -> list[Point]:
    """Read lines such as `{"step": 12, "epoch": 0, "name": "loss", "value": 0.87}`.

    A line without `name` and `value` is taken as one value a key:
    `{"step": 12, "loss": 0.87, "lr": 0.1}`.
    """
    points: list[Point] = []
    for number, line in _lines(path):
        try:
            record = json.loads(line)
        except ValueError:
            raise MetricsError(
                f"reading the metrics {path.name}: line {number} is {_short(line)};"
                ' expected a JSON object such as {"step": 0, "name": "loss", "value": 0.5}.'
            ) from None
        if not isinstance(record, dict):
            continue
        if "name" in record and "value" in record:
            rank = f"@rank{record['rank']}" if record.get("rank") else ""
            value = _number(record["value"])
            if value is None:
                raise MetricsError(
                    f"reading the metrics {path.name}: line {number} has the value"
                    f" {record['value']!r}; expected a number, or one as text."
                )
            points.append(
                Point(
                    f"{record['name']}{rank}",
                    value,
                    _integer(record.get("step")),
                    _integer(record.get("epoch")),
                    record.get("dtype"),
                )
            )
        else:
            points += _row(record)
    return points


def read_csv(path: Path) -> list[Point]:
    """Read a table with a header; columns `step` and `epoch` give the place, numbers the values."""
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        rows = csv.DictReader(file)
        header = rows.fieldnames or []
        points = [point for row in rows for point in _row(row)]
    if header and all(_number(name) is not None for name in header):
        raise MetricsError(
            f"reading the metrics {path.name}: the first line is {_short(','.join(header))};"
            " expected a header with the metrics' names, such as step,epoch,loss."
        )
    return points


def read_dllogger(path: Path) -> list[Point]:
    """Read the lines that NVIDIA's DLLogger writes (`DLLL {...}`), from its file or the output."""
    points: list[Point] = []
    for _, line in _lines(path):
        _, mark, text = line.partition("DLLL ")
        try:
            record = json.loads(text) if mark else {}
        except ValueError:  # a line that was cut short by another process's output
            continue
        if not isinstance(record, dict) or not isinstance(record.get("data"), dict):
            continue
        step = record.get("step")
        place = list(step) if isinstance(step, (list, tuple)) else [] if step is None else [step]
        numbers = [_integer(part) for part in place]
        epoch = numbers[0] if numbers else None
        within = numbers[-1] if len(numbers) > 1 else None
        points += _row(record["data"] | {"epoch": epoch, "step": within})
    return points


def read_tensorboard(path: Path) -> list[Point]:
    """Read the scalars of all event files below a folder, with the package tensorboard."""
    try:
        from tensorboard.backend.event_processing.event_file_loader import (  # type: ignore[import-not-found,import-untyped,unused-ignore] # an optional package, without types
            EventFileLoader,
        )
        from tensorboard.util.tensor_util import (  # type: ignore[import-not-found,import-untyped,unused-ignore] # as above
            make_ndarray,
        )
    except ModuleNotFoundError:
        raise MissingPackageError(
            f"reading the TensorBoard events in {path.name} needs the package tensorboard, which is"
            " not installed here; install it with `pip install tensorboard`, or let the script"
            " write its metrics to {metrics}."
        ) from None
    points: list[Point] = []
    for file in sorted(path.rglob("*tfevents*")):
        for event in EventFileLoader(str(file)).Load():
            for value in event.summary.value:
                if value.HasField("tensor"):
                    array = make_ndarray(value.tensor)
                    if array.size == 1 and array.dtype.kind in "fiu":
                        number = float(array.reshape(-1)[0])
                        points.append(Point(value.tag, number, event.step, dtype=array.dtype.name))
    return points


def read_pattern(path: Path, pattern: str) -> list[Point]:
    """Read the output with a regular expression, searched for in every line.

    Groups named `step` and `epoch` give the place; a pair of groups `name` and `value` one
    metric; any other named group is a metric of that name.
    """
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise MetricsError(
            f"the pattern for metrics is {pattern!r}, which is no regular expression: {error}."
        ) from None
    if not set(compiled.groupindex) - {"step", "epoch"}:
        raise MetricsError(
            f"the pattern for metrics is {pattern!r}, which names no metric; name a group after"
            r" it, as in loss[=: ]+(?P<loss>\S+)."
        )
    points: list[Point] = []
    for _, line in _lines(path):
        for match in compiled.finditer(line):
            found = {key: text for key, text in match.groupdict().items() if text is not None}
            if {"name", "value"} <= set(found):
                found[found.pop("name")] = found.pop("value")
            points += _row(found)
    return points


_READERS: dict[str, Callable[[Path], list[Point]]] = {
    "auto": read_auto,
    "jsonl": read_jsonl,
    "csv": read_csv,
    "dllogger": read_dllogger,
    "tensorboard": read_tensorboard,
}


@dataclass(frozen=True)
class MetricsSource:
    """Where a script leaves its metrics; make one with `MetricsSource.parse`."""

    form: str = "auto"
    where: str = "{metrics}"

    @classmethod
    def parse(cls, text: str | None) -> MetricsSource:
        """Parse `FORM`, `FORM:PATH` or `regex:PATTERN`.

        FORM is auto, jsonl, csv, dllogger or tensorboard. PATH may hold `{metrics}`
        (the default), `{out}` and `{save}`; a relative one starts in the run's working directory,
        and `-` is the script's output.

        Raises:
            MetricsError: the form is unknown, or the pattern is none.
        """
        form, _, where = (text or "auto").partition(":")
        if form == "regex":
            read_pattern(Path("/dev/null"), where)
            return cls("regex", where)
        if form not in _READERS:
            raise MetricsError(
                f"unknown form of metrics {form!r}; expected one of {', '.join(_READERS)}, with a"
                " path behind a colon if it is not {metrics}, or regex:PATTERN."
            )
        return cls(form, where or "{metrics}")

    def read(self, values: dict[str, str], directory: Path, output: Path) -> list[Point]:
        """Return the points of one run; none where the script has written nothing.

        Args:
            values: what the placeholders of this run stand for.
            directory: the run's working directory.
            output: the file with what it printed.
        """
        if self.form == "regex":
            return read_pattern(output, self.where)
        if self.where == "-":
            return _READERS[self.form](output)
        where = self.where
        for name, value in values.items():
            where = where.replace(f"{{{name}}}", value)
        path = directory / where
        return _READERS[self.form](path) if path.exists() else []


def _row(record: dict[Any, Any]) -> Iterator[Point]:
    step, epoch = _integer(record.get("step")), _integer(record.get("epoch"))
    for name, text in record.items():
        if isinstance(name, str) and name.strip() not in {"step", "epoch", ""}:
            value = _number(text)
            if value is not None:
                yield Point(name.strip(), value, step, epoch)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or value is None or isinstance(value, (list, dict)):
        return None
    try:
        return float(value)  # type: ignore[arg-type]  # anything else raises, which is the answer
    except (TypeError, ValueError):
        return None


def _integer(value: object) -> int | None:
    number = _number(value)
    return int(number) if number is not None and math.isfinite(number) else None


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, line.rstrip("\n")


def _short(line: str) -> str:
    return repr(line if len(line) <= 60 else line[:57] + "...")
