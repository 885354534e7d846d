"""Examine the process that runs: versions, flags, hash seed, threads, cuBLAS, compiled code."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator

from reproseed.determinism import WORKSPACE, WORKSPACES, Setting, report
from reproseed.determinism.environment import HASH_SEED, hash_seed_in_force, uses_cublas
from reproseed.doctor.findings import Finding, Level
from reproseed.seeder import versions

LEAST = {"torch": (2, 4), "numpy": (1, 26)}
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
NUMERICS = (
    "ATEN_CPU_CAPABILITY",
    "MKL_CBWR",
    "ONEDNN_MAX_CPU_ISA",
    "NVIDIA_TF32_OVERRIDE",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
)


def examine_process() -> Iterator[Finding]:
    """Yield what there is to say of this process; initialises no device."""
    yield from _versions()
    yield from _run()
    yield from _hash_seed()
    yield from _threads()
    yield from _flags()
    yield from _cublas()
    yield from _compiled()


def _versions() -> Iterator[Finding]:
    import torch

    found = versions()
    device = (
        f"CUDA {torch.version.cuda}"
        if torch.version.cuda
        else f"ROCm {torch.version.hip}"
        if torch.version.hip
        else "CPU only"
    )
    text = ", ".join(f"{name} {version}" for name, version in found.items())
    yield Finding("versions", "ok", f"{text} ({device}); {platform.system()} {platform.machine()}")
    for name, least in LEAST.items():
        version = tuple(int(part) for part in found[name].split("+")[0].split(".")[:2])
        if version < least:
            wanted = ".".join(map(str, least))
            yield Finding(
                "versions", "problem", f"{name} {found[name]} is too old", f"Install {name} {wanted} or newer."
            )
    capability = getattr(torch.backends.cpu, "get_cpu_capability", lambda: "unknown")()
    given = [f"{name}={os.environ[name]}" for name in NUMERICS if name in os.environ]
    yield Finding(
        "processor",
        "note" if given else "ok",
        f"{', '.join([f'CPU kernels for {capability}', *given])}: others round, and draw normals, otherwise.",
        "Set these variables alike wherever results are compared." if given else "",
    )


def _run() -> Iterator[Finding]:
    from reproseed import run

    if run.is_initialized():
        yield Finding("run", "ok", repr(run.current_seeder()))


def _hash_seed() -> Iterator[Finding]:
    fixed, why = hash_seed_in_force()
    if fixed:
        yield Finding("hash seed", "ok", f"{why}.")
        return
    set_late = os.environ.get(HASH_SEED) not in (None, "", "random")
    found, _, do = why.partition(". ")
    level: Level = "problem" if set_late and fixed is False else "note"
    yield Finding("hash seed", level, f"{found}.", f"{do}." if do else "")


def _threads() -> Iterator[Finding]:
    import torch

    count = torch.get_num_threads()
    given = [f"{name}={os.environ[name]}" for name in THREADS if name in os.environ]
    text = f"{count} in an operation, {torch.get_num_interop_threads()} between operations"
    if given or count == 1:
        yield Finding("threads", "ok", f"{text}{', from ' + ', '.join(given) if given else ''}.")
        return
    yield Finding(
        "threads",
        "note",
        f"{text}, as this machine has cores: with another number long sums round otherwise.",
        f"To compare with other machines: rs.deterministic(threads={count}), or OMP_NUM_THREADS={count}.",
    )


def _flags() -> Iterator[Finding]:
    lines = {line.name: line for line in report() if line.name not in (WORKSPACE, HASH_SEED)}
    wanted = [line for line in lines.values() if line.wanted is not None]
    missing = [line for line in wanted if line.in_force != "yes" and not _has_nothing_to_act_on(line)]
    for line in missing:
        level: Level = "problem" if line.in_force == "no" else "note"
        yield Finding(
            f"flag {line.name}", level, f"{line.wanted!r} was asked for, {line.current!r} reads back: {line.why}"
        )
    on = lines["deterministic_algorithms"].current[0]
    if not on:
        do = 'rs.init(deterministic="error"), or `with rs.deterministic():`; "warn" lets them run. It costs some speed.'
        yield Finding("determinism", "note", "torch may use algorithms that give other bits each time.", do)
    elif not missing:
        yield Finding("determinism", "ok", "deterministic algorithms are on.")
    if lines["cudnn.benchmark"].current is True:
        yield Finding(
            "flag cudnn.benchmark",
            "problem",
            "cuDNN chooses algorithms by timing them, so that two runs may choose differently.",
            "Remove `torch.backends.cudnn.benchmark = True`, or use rs.deterministic().",
        )


def _has_nothing_to_act_on(line: Setting) -> bool:
    return line.why.endswith("nothing to act on.")


def _cublas() -> Iterator[Finding]:
    if not uses_cublas():
        return
    line = next(line for line in report() if line.name == WORKSPACE)
    if line.in_force == "yes":
        yield Finding("cuBLAS", "ok", f"{WORKSPACE}={line.current}: {line.why}")
        return
    import torch

    early = line.current is None and not torch.cuda.is_initialized()  # type: ignore[no-untyped-call]  # torch's
    level: Level = "note" if line.in_force == "unknown" or early else "problem"
    do = (
        f"Start with `{WORKSPACE}={WORKSPACES[0]} python ...`; rs.deterministic() sets it where CUDA is not in use yet."
    )
    yield Finding("cuBLAS", level, line.why, do)


def _compiled() -> Iterator[Finding]:
    if "torch._dynamo" in sys.modules and any(
        line.in_force == "unknown" for line in report() if line.name == "inductor.deterministic"
    ):
        yield Finding(
            "torch.compile",
            "note",
            "something is compiled: it keeps the flags of its time, and draws otherwise than eager code.",
            "Set flags before the first call, and compare compiled with compiled.",
        )
