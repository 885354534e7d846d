"""DataLoaders: what they are made of, which indices they ask for, and what comes back.

With workers the indices run ahead of the batches; each batch is recorded together with the indices that it was made of.
"""

from __future__ import annotations

import functools
import linecache
import sys
import weakref
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reproseed.sources.discovery import find_generators
from reproseed.trace.contents import contents, plain_attributes
from reproseed.trace.fingerprint import order_free, sample_digests, structure_digest, value_digest
from reproseed.trace.generators import describe, registered
from reproseed.trace.recorder import recorded

if TYPE_CHECKING:
    from reproseed.trace.recorder import Recorder

_FRAMES = 3  # of the user's code, which tell two loaders apart
_SHOWN = 512  # indices and samples that are listed one by one
_OPTIONS = (
    "batch_size", "num_workers", "drop_last", "prefetch_factor", "persistent_workers", "timeout", "pin_memory",
    "in_order",
)  # fmt: skip


class _Passes:
    """The loaders that exist and the passes over them, each held weakly."""

    def __init__(self) -> None:
        self.names: dict[str, list[tuple[str, ...]]] = {}
        self.sites: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self.labels: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self.asked: weakref.WeakKeyDictionary[Any, deque[Any]] = weakref.WeakKeyDictionary()
        self.counts: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def name(self, site: tuple[str, ...]) -> str:
        """Return a short name for the lines that made a loader: the innermost, numbered if others begin alike."""
        short = site[0].partition("(")[0] if site else "loader"
        known = self.names.setdefault(short, [])
        if site not in known:
            known.append(site)
        number = known.index(site) + 1
        return short if number == 1 else f"{short} #{number}"


def install(recorder: Recorder) -> Callable[[], None]:
    """Wrap the making of loaders, of their iterators, and the two things that an iterator does."""
    from torch.utils.data import DataLoader
    from torch.utils.data.dataloader import _BaseDataLoaderIter

    passes = _Passes()
    make, begin = DataLoader.__init__, DataLoader.__iter__
    ask, fetch = _BaseDataLoaderIter._next_index, _BaseDataLoaderIter.__next__

    def init(self: Any, *args: Any, **keywords: Any) -> None:
        make(self, *args, **keywords)
        _made(recorder, passes, self)

    def iterate(self: Any) -> Any:
        _begins(recorder, passes, self)
        iterator = begin(self)
        _begun(recorder, passes, self, iterator)
        return iterator

    def next_index(self: Any) -> Any:
        indices = ask(self)  # type: ignore[no-untyped-call]  # torch leaves it untyped
        _asked(recorder, passes, self, indices)
        return indices

    def next_batch(self: Any) -> Any:
        batch = fetch(self)
        _fetched(recorder, passes, self, batch)
        return batch

    changes = (
        (DataLoader, "__init__", make, functools.wraps(make)(init)),
        (DataLoader, "__iter__", begin, functools.wraps(begin)(iterate)),
        (_BaseDataLoaderIter, "_next_index", ask, functools.wraps(ask)(next_index)),
        (_BaseDataLoaderIter, "__next__", fetch, functools.wraps(fetch)(next_batch)),
    )
    for owner, name, _, wrapper in changes:
        setattr(owner, name, wrapper)

    def undo() -> None:
        for owner, name, plain, _ in changes:
            setattr(owner, name, plain)

    return undo


@recorded
def _made(recorder: Recorder, passes: _Passes, loader: Any) -> None:
    passes.sites[loader] = passes.name(_site())


@recorded
def _begins(recorder: Recorder, passes: _Passes, loader: Any) -> None:
    label = passes.sites.get(loader) or f"loader over {type(loader.dataset).__name__}"
    recorder.emit_generators(f"before iter of {label}")
    options = {name: getattr(loader, name, None) for name in _OPTIONS}
    for name in ("collate_fn", "worker_init_fn"):
        function = getattr(loader, name)
        options[name] = None if function is None else getattr(function, "__qualname__", type(function).__qualname__)
    recorder.emit("loader", label, **options, dataset=type(loader.dataset).__name__)
    recorder.emit("sampler", label, d=_sampler(loader))
    kinds, size = contents(loader.dataset)
    recorder.emit("dataset", label, len=size, d=kinds)
    for name, owner, generator in _generators(loader):
        known = any(generator is one for one in registered().values())
        recorder.emit("generator", f"{name} of {label}", of=owner, registered=known, **describe(generator))
    iterator = getattr(loader, "_iterator", None)
    if iterator is not None:  # workers that live on: torch resets this very iterator
        passes.asked.pop(iterator, None)


@recorded
def _begun(recorder: Recorder, passes: _Passes, loader: Any, iterator: Any) -> None:
    passes.labels[iterator] = passes.sites.get(loader) or f"loader over {type(loader.dataset).__name__}"
    passes.counts[iterator] = 0
    recorder.emit_generators(f"after iter of {passes.labels[iterator]}")


@recorded
def _asked(recorder: Recorder, passes: _Passes, iterator: Any, indices: Any) -> None:
    passes.asked.setdefault(iterator, deque()).append(indices)


@recorded
def _fetched(recorder: Recorder, passes: _Passes, iterator: Any, batch: Any) -> None:
    label = passes.labels.get(iterator)
    waiting = passes.asked.get(iterator)
    indices = waiting.popleft() if waiting else None
    if label is None or not recorder.wanted():
        return
    number = passes.counts[iterator] = passes.counts[iterator] + 1
    _emit_indices(recorder, label, number, indices)
    recorder.emit_generators(f"after fetch of {label}")
    whole, samples = structure_digest(batch), sample_digests(batch)
    recorder.emit(
        "batch", label, b=number, h=whole.digest, shape=whole.shape, free=order_free(samples), d=samples[:_SHOWN]
    )


def _emit_indices(recorder: Recorder, label: str, number: int, indices: Any) -> None:
    listed = list(indices) if isinstance(indices, (list, tuple)) else [indices]
    if all(index is None for index in listed):  # an iterable dataset is asked for nothing in particular
        return
    texts = [str(int(i)) if hasattr(i, "__index__") else value_digest(i)[:8] for i in listed]
    whole = structure_digest(texts)
    recorder.emit("indices", label, b=number, h=whole.digest, free=order_free(texts), d=texts[:_SHOWN])


def _outermost(loader: Any) -> Any:
    # Not by `or`, which asks for the length: that of an iterable dataset's sampler raises.
    return loader.sampler if loader.batch_sampler is None else loader.batch_sampler


def _sampler(loader: Any) -> dict[str, str]:
    """Return type and plain attributes of the samplers, outer ones first."""
    found: dict[str, str] = {}
    one, path = _outermost(loader), "sampler"
    for _ in range(4):
        if one is None:
            break
        found[path] = type(one).__name__
        found |= {f"{path}.{name}": text for name, text in plain_attributes(one).items()}
        one, path = getattr(one, "sampler", None), f"{path}.sampler"
    return found


def _generators(loader: Any) -> list[tuple[str, str, Any]]:
    """Return name, owner and generator for those inside the dataset, the loader's own, and its samplers'."""
    found = {id(one): (f"dataset.{path}", "dataset", one) for path, one in find_generators(loader.dataset).items()}
    own = getattr(loader, "generator", None)
    if own is not None:
        found.setdefault(id(own), ("loader.generator", "loader", own))
    for path, one in find_generators(_outermost(loader)).items():
        found.setdefault(id(one), (f"sampler.{path}", "loader", one))
    return list(found.values())


def _site() -> tuple[str, ...]:
    """Return the text of the user's lines that made the loader.

    Equal loaders of two runs have equal ones, whatever number of other loaders was made before, and other lines added.
    """
    lines: list[str] = []
    frame = sys._getframe(1)
    while frame is not None and len(lines) < _FRAMES:
        name = frame.f_code.co_filename
        if "reproseed" not in Path(name).parts and f"torch{'/'}utils" not in name and not name.startswith("<"):
            text = linecache.getline(name, frame.f_lineno).strip() or f"line {frame.f_lineno}"
            lines.append(f"{Path(name).name}: {text}")
        if frame.f_code.co_name == "<module>":
            break
        frame = frame.f_back  # type: ignore[assignment]  # None at the outermost
    return tuple(lines)
