"""The examples in the docstrings run, and every public name has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import pytest

import reproseed

MODULES = sorted(
    info.name
    for info in pkgutil.walk_packages(reproseed.__path__, "reproseed.")
    # These need a framework that is an extra, or are the command line itself.
    if not info.name.startswith(("reproseed.integrations", "reproseed.app", "reproseed.cli"))
    and "__main__" not in info.name
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_a_module_run(name):
    module = importlib.import_module(name)
    outcome = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert outcome.failed == 0


@pytest.mark.parametrize("name", [name for name in reproseed.__all__ if inspect.isfunction(getattr(reproseed, name))])
def test_every_public_function_tells_what_it_does(name):
    assert len(inspect.getdoc(getattr(reproseed, name)) or "") > 40
