"""Prove that a training script is reproducible, and see where it is not.

A script reports with `log_metric` and `final_state`; both cost nothing outside of a verification,
and importing this package imports neither torch, NumPy, SciPy nor matplotlib. Everything
else (`verify`, `study_variance`, `compare_versions`, `assert_reproducible`) is loaded when it is
asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reproseed.verify.record import final_state, log_metric

if TYPE_CHECKING:
    from reproseed.verify.api import verify
    from reproseed.verify.compare import CompareReport, compare_versions
    from reproseed.verify.inprocess import assert_reproducible
    from reproseed.verify.report import VerifyReport
    from reproseed.verify.study import StudyReport, study_variance

__all__ = [
    "CompareReport",
    "StudyReport",
    "VerifyReport",
    "assert_reproducible",
    "compare_versions",
    "final_state",
    "log_metric",
    "study_variance",
    "verify",
]

_HOMES = {
    "verify": "api",
    "VerifyReport": "report",
    "assert_reproducible": "inprocess",
    "StudyReport": "study",
    "study_variance": "study",
    "CompareReport": "compare",
    "compare_versions": "compare",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
