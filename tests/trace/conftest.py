"""The planted faults of the benchmarks are run as tests too."""

from __future__ import annotations

import sys
from pathlib import Path

import torch._dynamo  # noqa: F401 - the first optimizer imports it, and the import sets an environment variable

for folder in (Path(__file__).parent, Path(__file__).parents[2] / "benchmarks"):
    sys.path.append(str(folder))
