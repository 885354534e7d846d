"""Causes in the data: order, content, loaders, what is done to a batch."""

from __future__ import annotations

from reproseed.trace.align import Pair
from reproseed.trace.divergence import Cause
from reproseed.trace.evidence import Evidence, changed


def sampler_epoch(e: Evidence) -> Cause | None:
    """The sampler stands at another epoch."""
    return _sampler(e, "epoch", "SAMPLER_EPOCH")


def sampler_seed(e: Evidence) -> Cause | None:
    """The sampler has another seed."""
    return _sampler(e, "seed", "SAMPLER_SEED")


def _sampler(e: Evidence, attribute: str, name: str) -> Cause | None:
    for pair in e.of_loaders("sampler"):
        for key in pair.changed_keys():
            if key.rpartition(".")[2].strip("_") == attribute:
                a, b = (side.get(key) for side in (d or {} for d in pair.field("d")))
                return Cause(name, "certain", (f"{key} of {pair.name} is {a} in A and {b} in B",))
    return None


def shuffle_generator(e: Evidence) -> Cause | None:
    """The loader's or sampler's own generator stands elsewhere."""
    found = [p for p in e.of_loaders("generator") if _owner(p) == "loader"]
    if not found:
        return None
    return Cause("SHUFFLE_GENERATOR", "certain", tuple(_generator(p) for p in found))


def dataset_length(e: Evidence) -> Cause | None:
    """The dataset has another length."""
    for pair in e.of_loaders("dataset"):
        a, b = pair.field("len")
        if pair.both and a != b:
            return Cause("DATASET_CONTENT", "certain", (f"the dataset of {pair.name} has {a} items in A and {b} in B",))
    return None


def dataset_order(e: Evidence) -> Cause | None:
    """A list that the dataset holds has the same items in another order."""
    for pair in _datasets(e):
        a, size = pair.field("d")[0], pair.field("len")[0]
        ordered = [key for key in pair.changed_keys() if _reordered(pair, key)]
        if not ordered or _other_content(pair):
            continue
        evidence = [f"{key} of the dataset has the same items in another order ({a[key][0]})" for key in ordered[:3]]
        one, other = (h["variables"].get("PYTHONHASHSEED") for h in (e.a.header, e.b.header))
        if one != other:
            evidence.append(f"PYTHONHASHSEED is {one} in A and {other} in B, so sets of strings differ in order")
        sure = any(_count(a[key][0]) == size for key in ordered)
        return Cause("DATASET_ORDER", "certain" if sure else "likely", tuple(evidence))
    return None


def _reordered(pair: Pair, key: str) -> bool:
    """Whether a list has the same items in another order; numbers that are not one a sample are content, no order."""
    a, b = pair.field("d")
    if key not in a or key not in b or a[key][2] != b[key][2] or not a[key][2]:
        return False
    return _count(a[key][0]) == pair.field("len")[0] or not a[key][0].endswith((" int", " float"))


def _count(kind: str) -> int | None:
    """Return the number of items of a list or rows of an array from its kind, ``list of 5 str`` or ``float32[5,2]``."""
    number = kind.partition("[")[2].partition(",")[0].rstrip("]") or [*kind.split(" "), "", ""][2]
    return int(number) if number.isdigit() else None


def dataset_content(e: Evidence) -> Cause | None:
    """What the dataset holds differs."""
    length = dataset_length(e)
    if length is not None:
        return length
    for pair in _datasets(e):
        other = _other_content(pair)
        if other:
            names = ", ".join(other[:4])
            return Cause("DATASET_CONTENT", "likely", (f"{names} of the dataset of {pair.name} differs in content",))
    return None


def unregistered(e: Evidence) -> Cause | None:
    """A generator inside the dataset, which no scope reaches, stands elsewhere."""
    found = [p for p in e.of_loaders("generator") if _owner(p) == "dataset" and not any(p.field("registered"))]
    if not found:
        return None
    return Cause("RNG_UNREGISTERED", "certain", (*(_generator(p) for p in found[:3]), *_samples(e)))


def loader_config(e: Evidence) -> Cause | None:
    """The loader or sampler was made otherwise."""
    if e.first.kind == "rng" and not _in_loader(e):
        return None
    for kind in ("loader", "sampler"):
        for pair in e.of_loaders(kind):
            if not pair.both:
                continue
            names = pair.changed_keys() if kind == "sampler" else changed(pair)
            a, b = pair.field("d") if kind == "sampler" else (pair.a, pair.b)
            told = [f"{n} of {pair.name} is {(a or {}).get(n)} in A and {(b or {}).get(n)} in B" for n in names]
            return Cause("LOADER_CONFIG", "likely", tuple(told[:4]))
    return None


def unlisted_content(e: Evidence) -> Cause | None:
    """Single samples differ, always in the same way: what lies behind an index has changed."""
    mine, theirs = _visits(e, "a"), _visits(e, "b")
    differ = [i for i in mine if i in theirs and mine[i] != theirs[i]]
    again = [i for i in mine if len(mine[i]) > 1] + [i for i in theirs if len(theirs[i]) > 1]
    twice = _revisited(e)
    if differ and twice and not again:
        total = len([i for i in mine if i in theirs])
        told = f"sample {', '.join(differ[:5])} differs, {len(differ)} of {total} seen, each the same at every visit"
        return Cause("DATASET_CONTENT", "likely", (told,))
    return None


def unregistered_likely(e: Evidence) -> Cause | None:
    """Indices, if the dataset has any, and all known generators are equal, samples are not."""
    asked = e.latest("indices", e.first.name)
    if (asked is not None and asked.differ) or not e.was_equal("rng"):
        return None
    known = ", ".join((e.latest("rng") or e.first).a["g"])  # type: ignore[index]  # latest has both sides
    held = [p.name for p in e.of_loaders("generator", differ=False) if _owner(p) == "dataset"]
    told = [*_samples(e), f"{'the indices and ' if asked else ''}the generators {known} are equal"]
    if held:
        workers = any((p.a or {}).get("num_workers") for p in e.of_loaders("loader", differ=False))
        told.append(f"the dataset holds {', '.join(held)}{', of which workers move copies' if workers else ''}")
    return Cause("RNG_UNREGISTERED", "likely", tuple(told))


def batch_order(e: Evidence) -> Cause | None:
    """The sampler asked for other indices, and nothing that is known of it differs."""
    a, b = e.first.field("free")
    same = "the same indices in another order" if a == b else "other indices"
    told = [f"batch {e.first.field('b')[0]} asks for {same}"]
    told += [f"generators {', '.join(p.a['g'])} are equal" for p in [e.latest("rng")] if p and p.a and not p.differ]
    return Cause("BATCH_ORDER", "likely", tuple(told))


def input_edit(e: Evidence) -> Cause | None:
    """The batch is equal, what the model gets is not."""
    batch = e.latest("batch")
    told = [f"the input of {e.first.name} differs"]
    if batch is not None:
        if batch.differ:
            return None
        told.append(f"the batch of {batch.name} is equal")
    return Cause("INPUT_EDIT", "likely", tuple(told))


def _in_loader(e: Evidence) -> bool:
    """Whether the generators parted while a loader was at work."""
    return e.first.name.partition(" of ")[0].endswith((" iter", " fetch"))


def _datasets(e: Evidence) -> list[Pair]:
    if e.first.kind == "rng" and not _in_loader(e):
        return []
    return [p for p in e.of_loaders("dataset") if p.both]


def _other_content(pair: Pair) -> list[str]:
    return [key for key in pair.changed_keys() if not _reordered(pair, key)]


def _owner(pair: Pair) -> str:
    return str((pair.a or pair.b or {}).get("of"))


def _generator(pair: Pair) -> str:
    if not pair.both:
        return f"only {'A' if pair.b is None else 'B'} has the generator {pair.name}"
    one, other = pair.field("seed")
    if one != other:
        return f"generator {pair.name} was seeded with {one} in A and {other} in B"
    return f"generator {pair.name} ({pair.field('kind')[0]}) stands elsewhere in B"


def _samples(e: Evidence) -> list[str]:
    a, b = e.first.field("d")
    if e.first.kind != "batch" or not a or not b or len(a) != len(b):
        return []
    differ = sum(x != y for x, y in zip(a, b, strict=True))
    return [f"{differ} of {len(a)} samples of batch {e.first.field('b')[0]} differ"]


def _visits(e: Evidence, side: str) -> dict[str, set[str]]:
    """Return for each index of the loader the digests of its sample, over the whole trace."""
    found: dict[str, set[str]] = {}
    for index, sample in _listed(e, side):
        found.setdefault(index, set()).add(sample)
    return found


def _revisited(e: Evidence) -> bool:
    """Whether both runs saw some sample twice, so that it could have changed in between."""
    return all(len(seen := [i for i, _ in _listed(e, side)]) > len(set(seen)) for side in ("a", "b"))


def _listed(e: Evidence, side: str) -> list[tuple[str, str]]:
    name = (e.first.a if side == "a" else e.first.b or {})["n"]  # type: ignore[index]  # a batch has both sides
    found: list[tuple[str, str]] = []
    indices: list[str] = []
    for place in (e.a if side == "a" else e.b).places:
        for record in place.records:
            if record["n"] != name:
                continue
            if record["t"] == "indices":
                indices = record["d"]
            elif record["t"] == "batch" and len(indices) == len(record["d"]):
                found += zip(indices, record["d"], strict=True)
    return found
