"""Public assertions about what code does to the process's randomness, and about resuming."""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from typing import Any

from reproseed import run, stack
from reproseed.calls import snapshot
from reproseed.snapshots import Snapshot

_BY_IMPORTS = ("TORCHINDUCTOR_CACHE_DIR",)  # torch sets it when an optimizer's first step imports its compiler

Resumable = Callable[[Any], Iterable[tuple[Any, Any]]]


@contextlib.contextmanager
def assert_draws_nothing() -> Iterator[None]:
    """Assert that no generator has moved when the block ends: Python's, NumPy's, torch's, devices', registered ones.

    Raises:
        AssertionError: names those that moved. They stay where they are.

    >>> import random, reproseed as rs
    >>> with rs.testing.assert_draws_nothing():
    ...     x = 1 + 1
    """
    before = snapshot()
    yield
    moved = before.moved()
    if moved:
        raise AssertionError(f"{', '.join(moved)} moved in a block that must draw nothing.")


@contextlib.contextmanager
def assert_leaves_no_trace() -> Iterator[None]:
    """Assert that a block leaves the process as it was: it may draw, seed and set what it puts back.

    Looks at every generator, the open scopes, the run, the determinism flags, torch's default dtype, device and grad
    mode, and the environment. Also asserted if the block raises.

    Raises:
        AssertionError: names what changed, from what to what.

    >>> import torch, reproseed as rs
    >>> with rs.testing.assert_leaves_no_trace():
    ...     with rs.seeded(master_seed=1, restore=True):
    ...         noise = torch.rand(3)
    """
    generators, before = snapshot(), _settings()
    error: BaseException | None = None
    try:
        yield
    except BaseException as raised:
        error = raised
    moved = [f"{name} moved" for name in generators.moved()]
    after = _settings()
    pairs = {name: (before.get(name), after.get(name)) for name in {**before, **after}}
    changed = [f"{name} was {old!r} and is {new!r}" for name, (old, new) in pairs.items() if old != new]
    if moved or changed:
        raise AssertionError(f"a block that must leave no trace left: {'; '.join(moved + changed)}.") from error
    if error is not None:
        raise error


def assert_resumes_exactly(train: Resumable, *, every: int = 1) -> None:
    """Assert that a training loop that is stopped anywhere and resumed ends up with the same bits.

    ``train(None)`` is run to its end; then, from each checkpoint, ``train(checkpoint)``, and all that it yields is
    compared with the rest of the first run, bit for bit. Checkpoints pass through ``torch.save`` and
    ``torch.load(weights_only=True)``, so that nothing is shared with the run they came from. Generators, scopes and run
    of the caller are put back.

    Args:
        train: called with a checkpoint or None; yields ``(checkpoint, value)`` after each step. A value is what must
            be equal: a loss, tensors, in lists and dicts.
        every: try each ``every``-th checkpoint.

    Raises:
        AssertionError: names the step from which it was resumed and the first step that differs.

    >>> import torch, reproseed as rs
    >>> def train(saved):
    ...     rs.init(master_seed=1, resume=saved)
    ...     for epoch in rs.epochs(2):
    ...         with rs.seeded(task="train", epoch=epoch):
    ...             for step, _ in rs.steps(3):
    ...                 yield rs.state_dict(), torch.rand(2)
    >>> rs.testing.assert_resumes_exactly(train)
    """
    with _own_process():
        whole = [(_saved(checkpoint), _saved(value)) for checkpoint, value in train(None)]
    if not whole:
        raise AssertionError("train(None) yielded nothing: there is no step to resume from.")
    for start in range(0, len(whole), every):
        expected = whole[start + 1 :]
        with _own_process():
            resumed = [_saved(value) for _, value in train(_loaded(whole[start][0]))]
        where = f"resumed after step {start} of {len(whole)}"
        for offset, ((_, wanted), found) in enumerate(zip(expected, resumed, strict=False)):
            difference = _difference(_loaded(wanted), _loaded(found), "value")
            if difference:
                raise AssertionError(f"{where}, step {start + 1 + offset} differs: {difference}.")
        if len(resumed) != len(expected):
            raise AssertionError(f"{where}, {len(resumed)} steps followed; {len(expected)} are expected.")


@contextlib.contextmanager
def _own_process() -> Iterator[None]:
    """Keep the caller's generators, run and scopes away from what runs inside."""
    before: Snapshot = snapshot()
    current, entries = run._current, stack.clear()
    run._current = None
    try:
        yield
    finally:
        stack.clear()
        run._current = current
        if entries:
            stack.push(entries)
        before.restore()


def _settings() -> dict[str, Any]:
    import torch

    from reproseed.determinism import TABLE  # at the same layer; needed only here

    flags = {name: flag.read() for name, flag in TABLE.items() if not name.startswith("inductor.")}
    return {
        **flags,
        "the default dtype": torch.get_default_dtype(),
        "the default device": torch.get_default_device() if hasattr(torch, "get_default_device") else None,
        "grad mode": torch.is_grad_enabled(),
        "the number of open scopes": len(stack.entries()),
        "the run": run._current,
        **{f"the variable {name}": value for name, value in sorted(os.environ.items()) if name not in _BY_IMPORTS},
    }


def _saved(value: Any) -> bytes:
    import torch

    buffer = BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def _loaded(saved: bytes) -> Any:
    import torch

    return torch.load(BytesIO(saved), weights_only=True)


def _difference(wanted: Any, found: Any, path: str) -> str | None:
    """Return where two values part, and how; floats and tensors are compared by their bits."""
    import torch

    if type(wanted) is not type(found):
        return f"{path} is a {type(found).__name__}, not a {type(wanted).__name__}"
    if isinstance(wanted, torch.Tensor):
        return _tensor_difference(wanted, found, path)
    if isinstance(wanted, dict):
        if wanted.keys() != found.keys():
            return f"{path} has the keys {sorted(map(str, found))}, not {sorted(map(str, wanted))}"
        pairs: Iterable[tuple[Any, Any, str]] = ((wanted[k], found[k], f"{path}[{k!r}]") for k in wanted)
    elif isinstance(wanted, (list, tuple)):
        if len(wanted) != len(found):
            return f"{path} has {len(found)} items, not {len(wanted)}"
        pairs = ((a, b, f"{path}[{i}]") for i, (a, b) in enumerate(zip(wanted, found, strict=True)))
    elif isinstance(wanted, float):
        same = struct.pack("<d", wanted) == struct.pack("<d", found)
        return None if same else f"{path} is {found!r}, not {wanted!r}"
    else:
        return None if wanted == found else f"{path} is {found!r}, not {wanted!r}"
    return next((d for a, b, where in pairs if (d := _difference(a, b, where)) is not None), None)


def _tensor_difference(wanted: Any, found: Any, path: str) -> str | None:
    import torch

    if (wanted.dtype, wanted.shape) != (found.dtype, found.shape):
        return f"{path} is {found.dtype} {tuple(found.shape)}, not {wanted.dtype} {tuple(wanted.shape)}"
    one, other = (t.detach().cpu().contiguous().reshape(-1).view(torch.uint8) for t in (wanted, found))
    if torch.equal(one, other):
        return None
    width = max(wanted.element_size(), 1)
    where = int((one != other).nonzero()[0]) // width
    return f"{path} differs first at element {where}: {found.reshape(-1)[where]} instead of {wanted.reshape(-1)[where]}"
