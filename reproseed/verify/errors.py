"""What can go wrong while a script is verified.

    ReproseedError
        VerifyError
            TemplateError           the command's placeholders or groups are wrong
            UsageError              arguments that exclude each other, or are out of range
            MetricsError            a run's metrics cannot be read
            FinalStateError         a run's final state cannot be fingerprinted
            MissingPackageError     a package of an extra is not installed
            NotReproducibleError    also an AssertionError, for use in tests

This module imports nothing but the root of the tree, so that a training script can report its
metrics without paying for anything else.
"""

from __future__ import annotations

from reproseed.errors import ReproseedError


class VerifyError(ReproseedError):
    """Base of the errors of `reproseed.verify`."""


class TemplateError(VerifyError):
    """The command to run has an unknown placeholder or a broken group."""


class UsageError(VerifyError):
    """Arguments that cannot be carried out, found before anything is run."""


class MetricsError(VerifyError):
    """A run's metrics could not be written or read."""


class FinalStateError(VerifyError):
    """A final state could not be fingerprinted."""


class MissingPackageError(VerifyError):
    """A package of an extra is needed and is not installed."""


class NotReproducibleError(VerifyError, AssertionError):
    """Two calls with one seed gave different results, or two seeds gave the same."""
