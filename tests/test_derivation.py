"""Derivation 1: frozen answers, an independent re-derivation from the design's text, and counts over a whole run."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import runpy
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from labels import label

from reproseed.address import Address
from reproseed.derivation import check_derivation, check_master_seed, derive_1, draw_master_seed
from reproseed.errors import CoordinateTypeError, CoordinateValueError, SeedRangeError
from reproseed.sources.numpy import seed_random_state
from reproseed.streams import Stream

GOLDEN = runpy.run_path(str(Path(__file__).parent / "golden" / "derivation_1.py"))
FROZEN = json.loads(GOLDEN["FILE"].read_text(encoding="utf-8"))


def by_hand(master_seed, coordinates, label, length):
    """Derivation 1 once more, from the text of the design alone."""
    message = b"reproseed/1" + b"\x00" + struct.pack("<Q", master_seed) + struct.pack("<H", len(coordinates))
    for name in sorted(coordinates):
        raw = name.encode("utf-8")
        message += struct.pack("<H", len(raw)) + raw
        value = coordinates[name]
        if isinstance(value, str):
            text = value.encode("utf-8")
            message += b"s" + struct.pack("<I", len(text)) + text
        else:
            message += b"i" + struct.pack("<q", value)
    name = label.encode("utf-8")
    return hashlib.shake_128(message + struct.pack("<H", len(name)) + name).digest(length)


# --- frozen -----------------------------------------------------------------------------------------------------------


def place_of(entry):
    return entry["master_seed"], entry["coordinates"], entry["label"]


def test_the_answers_of_derivation_1_never_change():
    """A red run here means that saved runs cannot be replayed: a change needs a new derivation, not a new file."""
    for entry in FROZEN:
        assert GOLDEN["answers"](*place_of(entry)) == entry["answers"], place_of(entry)


def test_the_frozen_bytes_follow_from_the_text_of_the_design():
    for entry in FROZEN:
        derived = by_hand(*place_of(entry), 2504)
        assert derived[:64].hex() == entry["answers"]["bytes"], place_of(entry)
        assert derived[-16:].hex() == entry["answers"]["last of 2504 bytes"], place_of(entry)


def test_the_frozen_draws_follow_from_the_frozen_bytes():
    """Python from 256 bits, NumPy from 624 words, torch from 624 words: each built here by its library's own means."""
    for entry in FROZEN:
        raw = by_hand(*place_of(entry), 2504)
        python = random.Random(int.from_bytes(raw[:32], "little"))
        assert [python.random().hex() for _ in range(3)] == entry["answers"]["python random()"]
        legacy = np.random.RandomState()
        words = np.frombuffer(raw, "<u4", 624).astype(np.uint32)
        legacy.set_state(("MT19937", words, 624))
        assert legacy.randint(0, 2**32, size=4, dtype=np.uint32).tolist() == entry["answers"]["numpy words"]
        legacy.set_state(("MT19937", words, 624))
        first, second, *_ = (int(w) for w in legacy.randint(0, 2**32, size=4, dtype=np.uint32))
        assert ((first << 32 | second) & (2**63 - 1)) == entry["answers"]["torch int64"][0]
        assert entry["answers"]["torch initial_seed"] == int.from_bytes(raw[2496:], "little")


def test_every_label_and_place_is_frozen():
    assert {entry["label"] for entry in FROZEN} == set(GOLDEN["LABELS"])
    assert len(FROZEN) == len(GOLDEN["LABELS"]) * len(GOLDEN["PLACES"])
    assert len({entry["answers"]["bytes"] for entry in FROZEN}) == len(FROZEN)


names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,11}", fullmatch=True)
values = st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
masters = st.integers(0, 2**64 - 1)


@given(
    masters, st.dictionaries(names, values, max_size=5), st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
)
def test_any_address_derives_as_the_design_writes_it(master_seed, coordinates, label):
    assert derive_1(master_seed, Address(**coordinates), label, 80) == by_hand(master_seed, coordinates, label, 80)


@given(masters, st.integers(0, 200), st.integers(0, 200))
def test_a_shorter_answer_is_the_beginning_of_a_longer_one(master_seed, one, other):
    short, long = sorted((one, other))
    assert derive_1(master_seed, Address(), "python", long)[:short] == derive_1(master_seed, Address(), "python", short)


def test_a_label_that_does_not_fit_is_refused():
    derive_1(0, Address(), "x" * 65_535, 8)
    with pytest.raises(CoordinateValueError, match="has 65536 bytes; at most 65,535 fit"):
        derive_1(0, Address(), "ä" * 32_768, 8)


# --- the numbers a run takes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", [0, 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1, np.uint64(2**64 - 1), torch.tensor(3)], ids=str
)
def test_a_master_seed_in_range_is_taken_as_it_is(value):
    assert check_master_seed(value) == int(value)
    assert type(check_master_seed(value)) is int


@pytest.mark.parametrize("value", [-1, -2, 2**64, 10**30, np.int64(-5), torch.tensor(-1)], ids=str)
def test_a_master_seed_out_of_range_is_refused_naming_the_range(value):
    with pytest.raises(SeedRangeError, match=rf"master_seed={int(value)} is out of range; .*\[0, 2\*\*64\)"):
        check_master_seed(value)


@pytest.mark.parametrize(
    "value",
    [True, None, 4.0, "42", "\ud800", b"1", [1], np.array([1]), torch.tensor(1.0), torch.tensor(True)],
    ids=label,
)
def test_a_master_seed_of_another_kind_is_refused_with_what_is_wanted(value):
    with pytest.raises(CoordinateTypeError, match=r"^master_seed.*an int in \[0, 2\*\*64\) is wanted"):
        check_master_seed(value)


def test_a_drawn_master_seed_has_63_bits_and_differs_each_time():
    drawn = {draw_master_seed() for _ in range(100)}
    assert len(drawn) == 100
    assert max(drawn) < 2**63
    assert max(drawn) > 2**32


@pytest.mark.parametrize("version", [0, 2, -1, 10**30])
def test_an_unknown_derivation_is_refused_naming_those_that_exist(version):
    with pytest.raises(CoordinateValueError, match=rf"derivation={version} is not known .* it has \[1\]"):
        check_derivation(version)


@pytest.mark.parametrize("version", [True, None, "1", 1.0, [1]], ids=label)
def test_a_derivation_that_is_no_integer_is_refused(version):
    with pytest.raises(CoordinateTypeError, match=r"derivation=.*one of \[1\] is wanted"):
        check_derivation(version)


# --- counts -----------------------------------------------------------------------------------------------------------


def run_addresses(masters, ranks=8, epochs=100, tasks=4):
    places = [
        Address(task=task, epoch=epoch, rank=rank)
        for rank, epoch, task in itertools.product(range(ranks), range(epochs), range(tasks))
    ]
    return itertools.product(masters, places)


def test_320_000_addresses_of_a_hundred_runs_have_320_000_different_seeds():
    """fwr13y's formula gives 1,800 different ones over the same grid."""
    seeds = {derive_1(master, place, "python", 8) for master, place in run_addresses(range(100))}
    assert len(seeds) == 320_000


def test_the_grid_above_shows_the_flaw_of_additive_seeds():
    """The control: master seed, epoch, rank and task added up, the grid's count is a small fraction."""
    additive = {
        (master + place["epoch"] * 8 + place["rank"]) * 2 + place["task"] for master, place in run_addresses(range(100))
    }
    assert len(additive) < 2_000


@pytest.mark.parametrize("label", ["python", "numpy", "torch.cpu"])
@pytest.mark.parametrize("master", [0, 41, 2**32 - 1, 2**64 - 2])
def test_neighbouring_runs_share_no_seed(master, label):
    one, other = (
        {derive_1(seed, place, label, 8) for seed, place in run_addresses([number], epochs=20)}
        for number in (master, master + 1)
    )
    assert len(one) == len(other) == 640
    assert one.isdisjoint(other)


LABELS = ("python", "numpy", "torch.cpu", "torch.cuda", "generator:a", "stream:a", "sample.numpy", "worker.numpy")


def test_the_libraries_of_one_address_share_no_window_of_bytes():
    """Not even shifted: no 4-byte word of one label's stream stands in another's."""
    words = [set(np.frombuffer(derive_1(7, Address(task=1), label, 2496), "<u4").tolist()) for label in LABELS]
    common = [len(one & other) for one, other in itertools.combinations(words, 2)]
    # 28 pairs of 624 words: 0.0025 common words are expected by chance.
    assert sum(common) == 0


# --- what torch and NumPy make of it (peers.md, section 3) ------------------------------------------------------------


@pytest.mark.slow
def test_the_first_draws_of_torch_over_100_000_addresses_are_all_different():
    generator, draw = torch.Generator(), torch.empty(1, dtype=torch.int64)
    draws, narrow = set(), {}
    clash = None
    for master, place in itertools.islice(run_addresses(range(32)), 100_000):
        stream = Stream(master, place, "torch.cpu")
        stream.seed_torch(generator)
        draws.add(draw.random_(generator=generator).item())
        if clash is None:
            clash = narrow.get(stream.seed(32))
            clash = None if clash is None else (clash, stream)
        narrow[stream.seed(32)] = stream
    assert len(draws) == 100_000
    # The control: among these addresses, two have 32-bit seeds that manual_seed cannot tell apart.
    assert clash is not None, "no two of 100,000 seeds of 32 bits coincide: take other addresses for this control"
    by_seed = [torch.Generator().manual_seed(stream.seed(32)) for stream in clash]
    full = [stream.torch_generator() for stream in clash]
    assert torch.equal(*(torch.rand(100, generator=g) for g in by_seed))
    assert not torch.equal(*(torch.rand(100, generator=g) for g in full))


def leading_words(python, legacy, cpu, n=2000):
    """The raw 32-bit words of three generators on Mersenne Twisters, whatever their public calls make of them."""
    return {
        "python": [python.getrandbits(32) for _ in range(n)],
        "numpy": legacy.randint(0, 2**32, size=n, dtype=np.uint32).tolist(),
        # random_ on int32 gives a word without its highest bit; the others lose theirs below.
        "torch": torch.empty(n, dtype=torch.int32).random_(generator=cpu).tolist(),
    }


def shared_words(words):
    """How many words two streams have in common, at any offset, their highest bit left out; the most over the pairs."""
    sets = [{word & (2**31 - 1) for word in one} for one in words.values()]
    return max(len(one & other) for one, other in itertools.combinations(sets, 2))


@pytest.mark.parametrize("master", [0, 5, 42, 123456789])
def test_torch_numpy_and_python_streams_of_one_address_are_unrelated(master):
    address = Address(task="train", epoch=0)
    legacy = np.random.RandomState()
    seed_random_state(legacy, Stream(master, address, "numpy"))
    python = Stream(master, address, "python").python_random()
    words = leading_words(python, legacy, Stream(master, address, "torch.cpu").torch_generator())
    assert shared_words(words) <= 1  # 0.002 by chance
    bits = {name: np.unpackbits(np.array(one, "<u4").view(np.uint8)) for name, one in words.items()}
    for one, other in itertools.combinations(bits.values(), 2):
        # 62,000 fair bits that agree by chance: five standard deviations are 0.01.
        assert abs(float((one == other).mean()) - 0.5) < 0.03


@pytest.mark.parametrize("seed", [0, 5, 42, 123456789])
def test_one_integer_seeded_into_all_three_fails_the_test_above(seed):
    """The control: torch and NumPy then run on the same words, and Python on those of NumPy's list seeding."""
    words = leading_words(random.Random(seed), np.random.RandomState(seed), torch.Generator().manual_seed(seed))
    assert [w & (2**31 - 1) for w in words["numpy"]] == words["torch"]
    assert shared_words(words) == len(set(words["torch"]))
    listed = np.random.RandomState([seed])
    assert listed.randint(0, 2**32, size=50, dtype=np.uint32).tolist() == words["python"][:50]
    rand = torch.rand(100, generator=torch.Generator().manual_seed(seed))
    raw = np.random.RandomState(seed).randint(0, 2**32, size=100, dtype=np.uint32)
    assert rand.tolist() == ((raw & (2**24 - 1)) / np.float32(2**24)).tolist()
