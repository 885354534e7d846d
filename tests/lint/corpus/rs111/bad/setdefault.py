import os

os.environ.setdefault("PYTHONHASHSEED", "0")  # expect: RS111
