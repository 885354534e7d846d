"""The errors of the tracer."""

from __future__ import annotations

from reproseed.errors import ReproseedError


class TraceError(ReproseedError, RuntimeError):
    """A run cannot be traced; the message says why and what to do."""


class TraceFormatError(ReproseedError, ValueError):
    """A file is no trace, is damaged, or cannot be compared with another one."""
