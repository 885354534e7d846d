"""``python -m reproseed``, the same as the console script: it needs no folder of scripts on the path."""

from reproseed.cli import main

if __name__ == "__main__":
    main()
