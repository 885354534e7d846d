"""What a trace's header says of the process: what may change bits without any line of the script changing."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Any

from reproseed import run
from reproseed.ranks import find_place

# Variables that choose kernels, their order of summation, or the order of sets. Others are nobody's business.
VARIABLES = (
    "ATEN_CPU_CAPABILITY", "CUBLAS_WORKSPACE_CONFIG", "CUDA_VISIBLE_DEVICES", "KMP_AFFINITY", "MKL_CBWR",
    "MKL_NUM_THREADS", "NVIDIA_TF32_OVERRIDE", "OMP_NUM_THREADS", "ONEDNN_MAX_CPU_ISA", "OPENBLAS_NUM_THREADS",
    "PYTHONHASHSEED", "REPROSEED_MASTER_SEED", "REPROSEED_SEEDING", "REPROSEED_TASK_SEEDS",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
)  # fmt: skip


def header(level: str) -> dict[str, Any]:
    """Return the header of a trace that begins now."""
    import numpy as np
    import torch

    import reproseed

    place = find_place(None, None, None, None)
    seeder = run._current
    return {
        "level": level,
        "script": Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "",
        "rank": place.rank,
        "world_size": place.world_size,
        "master_seed": None if seeder is None else seeder.master_seed,
        "versions": {
            "reproseed": reproseed.__version__,
            "python": platform.python_version(),
            "torch": str(torch.__version__),
            "numpy": str(np.__version__),
        },
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "capability": torch.backends.cpu.get_cpu_capability(),
            "devices": _devices(),
        },
        "variables": {name: os.environ[name] for name in VARIABLES if name in os.environ},
    }


def flags() -> dict[str, Any]:
    """Return the process's settings that choose kernels, as they are now."""
    import torch

    return {
        "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "default_dtype": str(torch.get_default_dtype()).removeprefix("torch."),
        "benchmark": torch.backends.cudnn.benchmark,
        "cudnn_deterministic": torch.backends.cudnn.deterministic,
        "mkldnn": torch.backends.mkldnn.enabled,
        "matmul_precision": torch._C._get_float32_matmul_precision(),
        "autocast": torch.is_autocast_enabled("cpu"),
    }


def _devices() -> list[str]:
    import torch

    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]  # torch leaves it untyped
        return []
    return [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
