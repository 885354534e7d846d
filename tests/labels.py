"""Names of parameters: equal in every process, as pytest-xdist needs them."""

from __future__ import annotations

import re


def label(value: object) -> str:
    """Return the value's repr without the address in memory."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
