import os
import warnings

if os.environ.get("PYTHONHASHSEED") is None:
    warnings.warn("set PYTHONHASHSEED=0 in the shell", stacklevel=1)
