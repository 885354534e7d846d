"""Streams: equal when asked twice, different by name and place, and apart from the process's generators."""

from __future__ import annotations

import itertools
import os
import pickle
import random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import reproseed as rs
from reproseed import mersenne, streams
from reproseed.address import Address
from reproseed.errors import CoordinateTypeError, CoordinateValueError, NarrowSeedWarning
from reproseed.streams import Stream

STREAM = Stream(7, Address(task="train", epoch=0), "stream:noise")

GENERATORS = {
    "torch": lambda stream: torch.rand(4, generator=stream.torch_generator(), dtype=torch.float64).tolist(),
    "numpy": lambda stream: stream.numpy_generator().random(4).tolist(),
    "python": lambda stream: [stream.python_random().random() for _ in range(1)],
    "seed": lambda stream: stream.seed(64),
    "bytes": lambda stream: stream.bytes(32),
}


@pytest.mark.parametrize("draw", GENERATORS.values(), ids=GENERATORS)
def test_asked_twice_a_stream_gives_equal_draws(draw):
    assert draw(STREAM) == draw(STREAM) == draw(pickle.loads(pickle.dumps(STREAM)))


@pytest.mark.parametrize("draw", GENERATORS.values(), ids=GENERATORS)
@pytest.mark.parametrize(
    "other",
    [
        pytest.param(Stream(8, STREAM.address, STREAM.label), id="master-seed"),
        pytest.param(Stream(7, STREAM.address, "stream:other"), id="name"),
        pytest.param(Stream(7, Address(task="train"), STREAM.label), id="address"),
        pytest.param(STREAM.at(trial=0), id="at"),
    ],
)
def test_another_place_or_name_gives_other_draws(draw, other):
    assert draw(STREAM) != draw(other)
    assert other != STREAM
    assert len({STREAM, other}) == 2


def test_drawing_from_a_stream_touches_no_generator_of_the_process():
    before = rs.snapshot()
    for draw in GENERATORS.values():
        draw(STREAM)
    assert before.moved() == []


def test_a_stream_repeats_nothing_that_a_scope_at_its_address_draws():
    with rs.seeded(master_seed=7, task="train", epoch=0) as scope:
        stream = scope.stream("python")  # named as a library's own label is
        scoped = {
            "python": random.random(),
            "numpy": np.random.random_sample(),
            "torch": torch.rand(1, dtype=torch.float64).item(),
        }
    own = [
        stream.python_random().random(),
        stream.numpy_generator().random(),
        torch.rand(1, generator=stream.torch_generator(), dtype=torch.float64).item(),
    ]
    assert not set(scoped.values()) & set(own)


@given(st.integers(1, 4096))
def test_a_seed_has_as_many_bits_as_asked_and_begins_as_a_longer_one(bits):
    seed = STREAM.seed(bits)
    assert 0 <= seed < 2**bits
    assert seed == STREAM.seed(4096) & (2**bits - 1)
    assert seed == int.from_bytes(STREAM.bytes(512), "little") & (2**bits - 1)


@pytest.mark.parametrize("bits", [0, -1, 4097])
def test_a_number_of_bits_out_of_range_names_the_range(bits):
    with pytest.raises(
        CoordinateValueError, match=f"bits={bits} is out of range; it must be at least 1 and below 4097"
    ):
        STREAM.seed(bits)


@pytest.mark.parametrize(
    ("n", "error"), [(-1, CoordinateValueError), (True, CoordinateTypeError), (2.0, CoordinateTypeError)]
)
def test_a_number_of_bytes_that_is_none_is_refused(n, error):
    with pytest.raises(error, match=f"n={n}"):
        STREAM.bytes(n)


def test_the_coordinates_of_at_are_checked():
    with pytest.raises(CoordinateTypeError, match="'rank' is no coordinate"):
        STREAM.at(rank=0)
    with pytest.raises(CoordinateTypeError, match="did you mean 'epoch'"):
        STREAM.at(epcoh=0)


def test_the_generators_of_one_stream_are_unrelated_to_each_other():
    torch_words = set(torch.empty(2000, dtype=torch.int32).random_(generator=STREAM.torch_generator()).tolist())
    numpy_words = {int(w) & (2**31 - 1) for w in STREAM.numpy_generator().integers(0, 2**32, 2000, dtype=np.uint32)}
    python = STREAM.python_random()
    python_words = {python.getrandbits(32) & (2**31 - 1) for _ in range(2000)}
    for one, other in itertools.combinations((torch_words, numpy_words, python_words), 2):
        assert len(one & other) <= 1


def test_a_torch_generator_has_a_whole_state_of_the_stream():
    generator = STREAM.torch_generator()
    raw = STREAM.bytes(2504)
    legacy = np.random.RandomState()
    legacy.set_state(("MT19937", np.frombuffer(raw, "<u4", 624).astype(np.uint32), 624))
    words = legacy.randint(0, 2**32, size=1500, dtype=np.uint32) & (2**31 - 1)
    assert torch.empty(1500, dtype=torch.int32).random_(generator=generator).tolist() == words.tolist()
    assert generator.initial_seed() == int.from_bytes(raw[2496:], "little")


def test_an_unknown_layout_of_torch_falls_back_to_manual_seed_and_warns_once(monkeypatch):
    monkeypatch.setattr(mersenne, "torch_template", lambda: None)
    streams._warn_narrow.cache_clear()
    with pytest.warns(
        NarrowSeedWarning, match="has an unknown layout in this version of torch; it is seeded with 64 bits"
    ) as seen:
        generators = [STREAM.torch_generator(), STREAM.torch_generator(), STREAM.at(trial=1).torch_generator()]
    assert len(seen) == 1
    assert generators[0].initial_seed() == STREAM.seed(64)
    assert torch.equal(*(torch.rand(5, generator=g) for g in generators[:2]))
    plain = torch.Generator().manual_seed(STREAM.seed(64))
    assert torch.equal(torch.rand(5, generator=generators[2]), torch.rand(5, generator=generators[2])) is False
    assert torch.equal(torch.rand(5, generator=plain), torch.rand(5, generator=STREAM.torch_generator()))
    streams._warn_narrow.cache_clear()


def test_jax_key_is_a_typed_threefry_key_of_64_bits():
    environment = dict(os.environ)
    jax = pytest.importorskip("jax", reason="jax is not installed")
    os.environ.clear()
    os.environ.update(environment)  # importing jax sets variables
    key = STREAM.jax_key()
    assert jax.numpy.issubdtype(key.dtype, jax.dtypes.prng_key)
    words = jax.random.key_data(key)
    assert words.tolist() == np.frombuffer(STREAM.bytes(8), "<u4").tolist()
    assert float(jax.random.uniform(key)) == float(jax.random.uniform(STREAM.jax_key()))
    assert float(jax.random.uniform(key)) != float(jax.random.uniform(STREAM.at(trial=1).jax_key()))


def test_repr_names_label_place_and_seed():
    assert repr(STREAM) == "Stream('stream:noise' at (epoch=0, task='train'), master_seed=7)"
