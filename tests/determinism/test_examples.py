"""The examples in the docstrings run, and end with everything as before."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import reproseed as rs

PACKAGES = ("reproseed.determinism", "reproseed.testing", "reproseed.doctor")
MODULES = [
    f"{package}.{module.name}"
    for package in PACKAGES
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__)
    if module.name != "__main__"
]
WITH_EXAMPLES = {"request", "scope", "report", "operations", "replacements", "seeding", "addresses", "assertions"}


@pytest.mark.parametrize("name", [*PACKAGES, *MODULES])
def test_the_examples_of_a_module_run(name):
    before = rs.snapshot()
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert found.failed == 0
    assert found.attempted > 0 or name.rsplit(".", 1)[-1] not in WITH_EXAMPLES
    before.restore()
