"""``python -m reproseed.lint PATH...``: works without any extra."""

import sys

from reproseed.lint.command import main

if __name__ == "__main__":
    sys.exit(main())
