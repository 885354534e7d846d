"""Every test here ends with each flag of the table as it found it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from reproseed.determinism import TABLE, end_run


def read_all() -> dict[str, Any]:
    """Return what each flag reads as; the flags of inductor that are only known once it is loaded left out."""
    return {name: flag.read() for name, flag in TABLE.items() if flag.read() != "absent"}


@pytest.fixture(autouse=True)
def flags_as_found() -> Iterator[None]:
    before = read_all()
    yield
    end_run()
    after = {name: value for name, value in read_all().items() if name in before}
    assert after == before
