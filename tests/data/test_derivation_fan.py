"""The fan of a derivation: the same bytes as the derivation itself, for every sample."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproseed.address import Address
from reproseed.derivation import DERIVATIONS, FANS

VALUES = st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NAMES = st.sampled_from(["task", "epoch", "fold", "trial", "zone", "a"])


def test_every_derivation_has_its_fan():
    assert FANS.keys() == DERIVATIONS.keys()


@pytest.mark.parametrize("version", sorted(DERIVATIONS))
@given(st.integers(0, 2**64 - 1), st.dictionaries(NAMES, VALUES), VALUES, st.integers(0, 300))
def test_a_fan_gives_the_derivations_bytes(version, master_seed, rest, sample, length):
    address = Address(**rest)
    label = "sample.numpy"
    expected = DERIVATIONS[version](master_seed, address.extended(sample=sample), label, length)
    assert FANS[version](master_seed, address, "sample", label)(sample, length) == expected
