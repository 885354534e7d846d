"""What importing the package costs, and which way its imports point."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import reproseed

PACKAGE = Path(reproseed.__file__).parent


def _imported(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return set(done.stdout.split())


def test_importing_the_package_imports_neither_torch_nor_numpy():
    modules = _imported("import reproseed")
    assert "reproseed" in modules
    assert not {"torch", "numpy", "lightning", "transformers"} & modules


@pytest.mark.parametrize("name", ["torch", "numpy"])
def test_the_check_above_can_fail(name):
    assert name in _imported(f"import reproseed, {name}")


# Layers of the design, lowest first; a module imports from its own layer or from lower ones.
LAYERS = (
    ("errors", "address", "derivation"),
    ("mersenne", "streams", "driving", "decorating", "scoping"),
    ("sources", "snapshots"),
    (
        "stack",
        "loops",
        "generators",
        "progress",
        "replay",
        "steps",
        "epoch_loop",
        "entering",
        "scopes",
        "ranks",
        "state",
        "resume",
        "seeder",
    ),
    ("run", "calls"),
    ("determinism", "data", "elastic", "trace", "verify", "lint", "testing", "doctor", "agreement"),
    ("integrations", "app", "cli", "__main__"),
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def _imports(path: Path) -> set[str]:
    """Return the modules of the package that a file imports at its top, outside TYPE_CHECKING."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("reproseed."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.ImportFrom) and node.module == "reproseed":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("reproseed.")}
    return found & LEVEL.keys()


def _files() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


@pytest.mark.parametrize("path", _files(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_to_the_same_layer_or_a_lower_one(path):
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    assert own in LEVEL, f"{own} has no layer: add it to LAYERS"
    upward = {name for name in _imports(path) if LEVEL[name] > LEVEL[own]}
    assert not upward


def test_nothing_imports_the_integrations_or_the_command_line():
    for path in _files():
        own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if own != "__main__":  # which is the command line
            assert not _imports(path) & {"integrations", "app", "cli"} - {own, "app"}, path


def test_all_is_sorted_and_complete():
    assert reproseed.__all__ == sorted(reproseed.__all__)
    assert all(hasattr(reproseed, name) for name in reproseed.__all__)


@pytest.mark.parametrize("name", ["seed_everything", "set_seed", "manual_seed", "fork_rng"])
def test_a_name_of_other_libraries_says_what_to_write(name):
    with pytest.raises(AttributeError, match=f"reproseed has no '{name}'; write "):
        getattr(reproseed, name)
