"""Run by Python at its start where a command is being traced; then the environment's own sitecustomize, if any."""

import contextlib
import json
import os
import sys


def _begin() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != here]
    this = sys.modules.pop("sitecustomize")
    with contextlib.suppress(ImportError):
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401 - the one that this one stands before
    sys.modules.setdefault("sitecustomize", this)  # Python looks for it there when it has been run
    if "REPROSEED_TRACE" not in os.environ:
        return
    try:
        from reproseed.trace.inject import AfterTorch
    except ImportError:  # the traced Python does not have the package: lend it ours, for this import alone
        sys.path.append(json.loads(os.environ["REPROSEED_TRACE"])["package"])
        from reproseed.trace.inject import AfterTorch
    sys.meta_path.insert(0, AfterTorch())


_begin()
