"""The entry point of the console script: it says what to install where the command line's extra is missing."""

from __future__ import annotations

import importlib.util
import sys

_NEEDED = ("typer", "rich")


def main() -> None:
    """Run the command line."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        sys.stderr.write(f"reproseed's command line needs {' and '.join(missing)}: pip install 'reproseed[cli]'\n")
        raise SystemExit(2)
    from reproseed.app import app

    app(prog_name="reproseed")


if __name__ == "__main__":
    main()
