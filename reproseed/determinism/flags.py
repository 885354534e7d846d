"""The table of flags: one row a flag, how to read it, set it, and put it back exactly.

A row that this version of torch lacks reads as ``ABSENT`` and is left out. Nothing here decides what is wanted, and
reading changes nothing.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reproseed.determinism import precision

ABSENT = "absent"
"""What a flag reads as that this version of torch does not have."""
WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"


@dataclass(frozen=True)
class Flag:
    """One process-wide setting.

    Attributes:
        name: as torch spells it, without ``torch.backends``.
        read: return its value, or ``ABSENT``.
        write: set it.
        save: return what `restore` takes; where a value alone does not say how it came about.
        restore: put back what `save` returned.
        meaning: what it decides, in a few words.
    """

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], None]
    meaning: str
    save: Callable[[], Any]
    restore: Callable[[Any], None]


def _flag(name: str, read: Callable[[], Any], write: Callable[[Any], None], meaning: str) -> Flag:
    return Flag(name, read, write, meaning, read, write)


def _module(name: str) -> Any:
    return importlib.import_module(name)


def _attribute(module: str, attribute: str, name: str, meaning: str) -> Flag:
    """A flag that is an attribute, perhaps of an object in a module: ``"torch.backends.cuda:matmul"``."""

    def owner() -> Any:
        path, _, inner = module.partition(":")
        return getattr(_module(path), inner) if inner else _module(path)

    def read() -> Any:
        try:
            value = getattr(owner(), attribute)
        except (AttributeError, ImportError):
            return ABSENT
        return ABSENT if value is None else value  # cuDNN's limit is None where there is no cuDNN

    return _flag(name, read, lambda value: setattr(owner(), attribute, value), meaning)


def _pair(module: str, getter: str, setter: str, name: str, meaning: str) -> Flag:
    """A flag behind two functions of a module."""

    def read() -> Any:
        get = getattr(_module(module), getter, None)
        return ABSENT if get is None else get()

    return _flag(name, read, lambda value: getattr(_module(module), setter)(value), meaning)


def _reduction(dtype: str) -> Flag:
    """A reduction flag of cuBLAS, which later versions keep together with one for split-k."""
    name = f"allow_{dtype}_reduced_precision_reduction"

    def owner() -> Any:
        return _module("torch.backends.cuda").matmul

    def read() -> Any:
        allowed = bool(getattr(owner(), name))
        try:
            return allowed, bool(getattr(owner(), f"{name}_split_k"))
        except AttributeError:
            return allowed

    def write(value: Any) -> None:
        both = isinstance(read(), tuple) and isinstance(value, bool)
        setattr(owner(), name, (value, value) if both else value)

    return _flag(f"cuda.matmul.{name}", read, write, f"whether {dtype} products may be summed in {dtype}")


def _read_algorithms() -> tuple[bool, bool]:
    import torch

    return torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()


def _write_algorithms(value: tuple[bool, bool]) -> None:
    import torch

    # use_deterministic_algorithms() sets inductor's flag too, on exit to False whatever it was, and imports its 800
    # modules; set_deterministic_debug_mode() cannot put back "off, warn only". Both end in this call.
    torch._C._set_deterministic_algorithms(value[0], warn_only=value[1])


_INDUCTOR = "torch._inductor.config"
_INDUCTOR_VARIABLE = "TORCHINDUCTOR_DETERMINISTIC"


def _read_inductor() -> Any:
    config = sys.modules.get(_INDUCTOR)
    if config is None:
        # Its module reads the variable when it is imported, which would cost a second here.
        return os.environ.get(_INDUCTOR_VARIABLE) == "1"
    return getattr(config, "deterministic", ABSENT)


def _write_inductor(value: Any) -> None:
    config = sys.modules.get(_INDUCTOR)
    if config is None:
        os.environ[_INDUCTOR_VARIABLE] = "1" if value else "0"
    elif hasattr(config, "deterministic"):
        config.deterministic = value  # type: ignore[attr-defined]  # a module of settings


def _save_inductor() -> tuple[Any, str | None]:
    return _read_inductor(), os.environ.get(_INDUCTOR_VARIABLE)


def _restore_inductor(saved: tuple[Any, str | None]) -> None:
    """Also right if inductor was imported in between."""
    value, variable = saved
    write_variable(_INDUCTOR_VARIABLE, variable)
    if _INDUCTOR in sys.modules and value != ABSENT:
        _write_inductor(value)


def _lazy_inductor(name: str, meaning: str) -> Flag:
    """A setting of inductor that is touched only where it is asked for by name."""

    def read() -> Any:
        config = sys.modules.get(_INDUCTOR)
        return ABSENT if config is None else getattr(config, name, ABSENT)

    def save() -> Any:
        _module(_INDUCTOR)
        return read()

    def write(value: Any) -> None:
        setattr(_module(_INDUCTOR), name, value)

    return Flag(f"inductor.{name}", read, write, meaning, save, write)


def write_variable(name: str, value: str | None) -> None:
    """Set an environment variable, or remove it for None."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def _table() -> tuple[Flag, ...]:
    cudnn, mkldnn, cuda = "torch.backends.cudnn", "torch.backends.mkldnn", "torch.backends.cuda"
    fill = _attribute(
        "torch.utils.deterministic",
        "fill_uninitialized_memory",
        "fill_uninitialized_memory",
        "whether fresh memory is filled",
    )
    return (
        _flag(
            "deterministic_algorithms",
            _read_algorithms,
            _write_algorithms,
            "whether operations take their deterministic form, and raise or only warn without one",
        ),
        fill,
        Flag(
            "inductor.deterministic",
            _read_inductor,
            _write_inductor,
            "whether torch.compile chooses kernels without timing them",
            _save_inductor,
            _restore_inductor,
        ),
        _attribute(cudnn, "enabled", "cudnn.enabled", "whether cuDNN is used at all"),
        _attribute(cudnn, "deterministic", "cudnn.deterministic", "whether cuDNN takes repeatable algorithms"),
        _attribute(cudnn, "benchmark", "cudnn.benchmark", "whether cuDNN chooses algorithms by timing them"),
        _attribute(cudnn, "benchmark_limit", "cudnn.benchmark_limit", "how many algorithms it times"),
        _attribute(mkldnn, "enabled", "mkldnn.enabled", "whether oneDNN is used at all"),
        _attribute(mkldnn, "deterministic", "mkldnn.deterministic", "whether oneDNN takes repeatable algorithms"),
        Flag(
            "fp32_precision",
            precision.read,
            precision.write,
            "whether float32 work may run in TF32",
            precision.save,
            precision.restore,
        ),
        _pair(cuda, "flash_sdp_enabled", "enable_flash_sdp", "sdp.flash", "whether attention may use flash kernels"),
        _pair(
            cuda,
            "mem_efficient_sdp_enabled",
            "enable_mem_efficient_sdp",
            "sdp.efficient",
            "whether attention may use memory-efficient kernels",
        ),
        _pair(
            cuda, "math_sdp_enabled", "enable_math_sdp", "sdp.math", "whether attention may be made of plain operations"
        ),
        _pair(cuda, "cudnn_sdp_enabled", "enable_cudnn_sdp", "sdp.cudnn", "whether attention may use cuDNN"),
        _pair(
            cuda,
            "fp16_bf16_reduction_math_sdp_allowed",
            "allow_fp16_bf16_reduction_math_sdp",
            "sdp.math_reduced_precision",
            "whether plain attention may sum in half precision",
        ),
        _reduction("fp16"),
        _reduction("bf16"),
        _attribute(
            f"{cuda}:matmul",
            "allow_fp16_accumulation",
            "cuda.matmul.allow_fp16_accumulation",
            "whether fp16 products may have fp16 accumulators",
        ),
        _pair(
            cuda,
            "preferred_linalg_library",
            "preferred_linalg_library",
            "cuda.preferred_linalg_library",
            "which of cuSOLVER and MAGMA is preferred",
        ),
        _pair(
            cuda,
            "preferred_blas_library",
            "preferred_blas_library",
            "cuda.preferred_blas_library",
            "which of cuBLAS and cuBLASLt is preferred",
        ),
        _flag(
            WORKSPACE,
            lambda: os.environ.get(WORKSPACE),
            lambda value: write_variable(WORKSPACE, value),
            "whether cuBLAS splits its sums in one way",
        ),
        _pair("torch", "get_num_threads", "set_num_threads", "num_threads", "how sums are split between threads"),
        _lazy_inductor("batch_invariant", "whether a row's result is independent of the batch"),
        _lazy_inductor("fallback_random", "whether compiled code draws what eager code draws"),
        _lazy_inductor("align_random_eager", "whether compiled code draws as eager code does"),
        _lazy_inductor("max_autotune", "whether kernels are chosen by timing them"),
        _lazy_inductor("emulate_precision_casts", "whether compiled code rounds where eager code does"),
        _lazy_inductor("force_disable_caches", "whether everything is compiled anew in each process"),
    )


TABLE: dict[str, Flag] = {flag.name: flag for flag in _table()}
"""Every flag that `deterministic` can set, by name, in the order in which they are set."""
