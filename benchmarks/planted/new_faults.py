"""Faults planted after the rules were frozen."""

from __future__ import annotations

from planted.plant import Fault

NEW: tuple[Fault, ...] = ()
