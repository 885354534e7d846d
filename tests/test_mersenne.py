"""Whole Mersenne states, fast: equal to the libraries' plain calls whatever was drawn before, and their fall-backs."""

from __future__ import annotations

import copy
import ctypes
import hashlib
import pickle
import random
import subprocess
import sys
import threading

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode

import reproseed as rs
from reproseed import mersenne
from reproseed.address import Address
from reproseed.mersenne import NumpyState, numpy_state, seed_numpy, set_numpy_state
from reproseed.sources import objects
from reproseed.sources.numpy import NumpySource, legacy_state, seed_random_state, set_legacy_state
from reproseed.streams import Stream

with FakeTensorMode():
    pass  # its first use sets a variable in the environment, which is no test's doing

DRAWS = {
    "normal": lambda r: r.standard_normal(),
    "normals": lambda r: r.standard_normal(3),
    "pair": lambda r: r.standard_normal(2),
    "randn": lambda r: r.randn(5),
    "uniform": lambda r: r.random_sample(),
    "word": lambda r: r.randint(0, 2**32, dtype=np.uint32),
    "byte": lambda r: r.randint(0, 256, dtype=np.uint8),
    "bytes": lambda r: r.bytes(5),
    "long": lambda r: r.randint(0, 2**62),
    "tomaxint": lambda r: r.tomaxint(),
    "shuffle": lambda r: r.permutation(7).tolist(),
    "gamma": lambda r: r.gamma(0.5),
    "poisson": lambda r: r.poisson(30.0),
    "binomial": lambda r: r.binomial(40, 0.3),
    "cauchy": lambda r: r.standard_cauchy(),
    "exponential": lambda r: r.exponential(),
    "choice": lambda r: r.choice(5, p=[0.1, 0.2, 0.3, 0.2, 0.2]),
    "to the end": lambda r: r.randint(0, 2**32, size=624 - int(r.get_state()[2]) % 624, dtype=np.uint32),
    "over the end": lambda r: r.randint(0, 2**32, size=625, dtype=np.uint32),
    "reseed": lambda r: r.seed(3),
    "reseed list": lambda r: r.seed([1, 2]),
}
programs = st.lists(st.sampled_from(sorted(DRAWS)), max_size=12)


def plain(random_state):
    """The state by NumPy's own means, in a form that compares."""
    name, key, position, has_gauss, gauss = random_state.get_state()
    return name, key.tobytes(), position, has_gauss, gauss if has_gauss else None


def run(random_state, program):
    return [np.asarray(DRAWS[name](random_state)).tobytes() for name in program if DRAWS[name] is not None]


# --- NumPy ------------------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), programs, programs)
def test_reading_numpys_state_equals_get_state_and_changes_nothing(seed, before, after):
    random_state = np.random.RandomState(seed)
    run(random_state, before)
    expected = plain(random_state)
    state = numpy_state(random_state)
    assert plain(random_state) == expected
    _, key, position, has_gauss, gauss = expected
    assert state.raw == key + int(position).to_bytes(4, "little")
    assert state.gauss == (gauss if has_gauss else None)
    twin = np.random.RandomState(seed)
    run(twin, before)
    assert run(random_state, after) == run(twin, after)


@given(st.integers(0, 2**32 - 1), programs, programs, programs)
def test_a_state_that_is_put_back_draws_what_the_plain_calls_would(seed, before, between, after):
    random_state, twin = np.random.RandomState(seed), np.random.RandomState(seed)
    run(random_state, before)
    run(twin, before)
    saved, saved_plainly = numpy_state(random_state), twin.get_state()
    run(random_state, between)
    run(twin, between)
    set_numpy_state(random_state, saved)
    twin.set_state(saved_plainly)
    assert plain(random_state) == plain(twin)
    assert run(random_state, after) == run(twin, after)
    assert numpy_state(random_state) == NumpyState(random_state._bit_generator, *numpy_state(twin)[1:])


# Not just any bytes: from a key that is nearly all zeros NumPy draws zeros for long, and a normal never.
keys = st.binary(max_size=8).map(lambda text: hashlib.shake_128(text).digest(mersenne.KEY_BYTES))


@pytest.mark.parametrize("first", [0, 1, 2**31 - 1])
def test_the_state_of_a_key_of_zeros_is_read_though_no_normal_comes_from_it(first):
    random_state = np.random.RandomState()
    key = np.zeros(624, dtype=np.uint32)
    key[0] = first
    random_state.set_state(("MT19937", key, 5, 0, 0.0))
    state = numpy_state(random_state)
    random_state.seed(1)
    set_numpy_state(random_state, state)
    assert plain(random_state)[1:3] == (key.tobytes(), 5)


@given(programs, keys, programs)
def test_seeding_equals_set_state_with_the_words_and_drops_a_cached_normal(before, words, after):
    random_state, twin = np.random.RandomState(1), np.random.RandomState(1)
    run(random_state, before)
    seed_numpy(random_state, words)
    twin.set_state(("MT19937", np.frombuffer(words, "<u4").astype(np.uint32), 624))
    assert plain(random_state) == plain(twin)
    assert run(random_state, after) == run(twin, after)


@pytest.mark.parametrize("position", [0, 1, 2, 311, 622, 623, 624])
@pytest.mark.parametrize("gauss", [None, 0.0, -1.5, 5e-324], ids=str)
def test_every_position_and_cached_normal_comes_back(position, gauss):
    key = np.arange(624, dtype=np.uint32) * 2654435761
    random_state = np.random.RandomState()
    random_state.set_state(("MT19937", key, position, int(gauss is not None), gauss or 0.0))
    expected = plain(random_state)
    state = numpy_state(random_state)
    assert plain(random_state) == expected
    random_state.randn(7)
    set_numpy_state(random_state, state)
    assert plain(random_state) == expected


OTHERS = [np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64, np.random.MT19937]


@settings(max_examples=25)
@given(st.lists(st.sampled_from(OTHERS), min_size=1, max_size=4), programs, programs)
def test_the_global_generator_comes_back_with_the_bit_generator_that_was_under_it(kinds, before, after):
    """Swapped before, inside, or both: the very object and its state are those of the snapshot."""
    source, own = NumpySource(), np.random.mtrand._rand._bit_generator
    words = [name for name in before if not name.startswith(("reseed", "to the end"))]
    tail = [name for name in after if not name.startswith(("reseed", "to the end"))]
    try:
        for kind in kinds:
            np.random.mtrand.set_bit_generator(kind(5))
            run(np.random.mtrand._rand, words)
            present, state = np.random.mtrand._rand._bit_generator, source.snapshot()
            expected = run(np.random.mtrand._rand, tail)
            np.random.mtrand.set_bit_generator(np.random.SFC64(1))
            np.random.standard_normal()
            source.restore(state)
            assert np.random.mtrand._rand._bit_generator is present
            assert source.snapshot() == state
            assert run(np.random.mtrand._rand, tail) == expected
            assert source.from_plain(source.to_plain(state))[1:] == state[1:]
    finally:
        np.random.mtrand.set_bit_generator(own)


@pytest.mark.parametrize("kind", OTHERS, ids=lambda kind: kind.__name__)
def test_seeding_puts_any_bit_generator_at_the_streams_start_and_drops_its_cached_normal(kind):
    stream = Stream(3, Address(task=1), "numpy")
    one, other = np.random.RandomState(kind(1)), np.random.RandomState(kind(2))
    one.standard_normal()  # leaves the second of a pair cached
    for random_state in (one, other):
        seed_random_state(random_state, stream)
    assert one.standard_normal(5).tolist() == other.standard_normal(5).tolist()
    state = legacy_state(one)
    expected = one.random_sample(3).tolist()
    set_legacy_state(one, state)
    assert one.random_sample(3).tolist() == expected


def test_a_subclass_of_the_mersenne_twister_is_left_to_the_plain_calls():
    class Own(np.random.MT19937):
        pass

    assert not mersenne.is_mersenne(Own(0))
    assert mersenne.is_mersenne(np.random.MT19937(0))


# --- Python -----------------------------------------------------------------------------------------------------------

PYTHON_DRAWS = {
    "random": lambda r: r.random(),
    "gauss": lambda r: r.gauss(0, 1),
    "normal": lambda r: r.normalvariate(0, 1),
    "bits": lambda r: r.getrandbits(7),
    "long": lambda r: r.getrandbits(200),
    "below": lambda r: r.randrange(10),
    "shuffle": lambda r: r.sample(range(9), 9),
    "to the end": lambda r: [r.getrandbits(32) for _ in range(624 - r.getstate()[1][-1] % 624)],
    "over the end": lambda r: [r.getrandbits(32) for _ in range(625)],
    "reseed": lambda r: r.seed(3),
    "reseed text": lambda r: r.seed("a text"),
}
python_programs = st.lists(st.sampled_from(sorted(PYTHON_DRAWS)), max_size=12)


def run_python(generator, program):
    return [PYTHON_DRAWS[name](generator) for name in program]


@given(st.integers(0, 2**64), python_programs, python_programs)
def test_reading_pythons_state_equals_getstate_and_changes_nothing(seed, before, after):
    generator, twin = random.Random(seed), random.Random(seed)
    run_python(generator, before)
    run_python(twin, before)
    state = mersenne.python_state(generator)
    version, words, gauss = generator.getstate()
    assert (version, words, gauss) == twin.getstate()
    assert state == (np.array([words[-1], *words[:-1]], "<u4").tobytes(), gauss)
    assert run_python(generator, after) == run_python(twin, after)


@given(st.integers(0, 2**64), python_programs, python_programs, python_programs)
def test_a_state_of_python_that_is_put_back_draws_what_setstate_would(seed, before, between, after):
    generator, twin = random.Random(seed), random.Random(seed)
    run_python(generator, before)
    run_python(twin, before)
    saved, saved_plainly = mersenne.python_state(generator), twin.getstate()
    run_python(generator, between)
    run_python(twin, between)
    mersenne.set_python_state(generator, saved)
    twin.setstate(saved_plainly)
    assert generator.getstate() == twin.getstate()
    assert run_python(generator, after) == run_python(twin, after)


@given(st.integers(-(2**300), 2**300), python_programs)
def test_an_int_seeds_python_as_its_own_seed_does(number, before):
    generator, twin = random.Random(1), random.Random()
    run_python(generator, before)
    mersenne.seed_python(generator, number)
    twin.seed(number)
    assert generator.getstate() == twin.getstate()


class Counted(random.Random):
    """A subclass with public calls of its own."""

    calls = 0

    def getstate(self):
        self.calls += 1
        return super().getstate()

    def setstate(self, state):
        self.calls += 1
        super().setstate(state)

    def seed(self, *args):
        self.calls += 1
        super().seed(*args)


def test_a_subclass_of_pythons_generator_is_left_to_its_own_calls():
    generator = Counted(3)
    generator.gauss(0, 1)
    expected, generator.calls = random.Random.getstate(generator), 0
    state = mersenne.python_state(generator)
    generator.random()
    mersenne.set_python_state(generator, state)
    assert random.Random.getstate(generator) == expected
    mersenne.seed_python(generator, 5)
    assert generator.calls == 3
    assert generator.random() == random.Random(5).random()


def test_an_unknown_layout_of_python_uses_the_plain_calls(monkeypatch):
    generator = random.Random(5)
    generator.gauss(0, 1)
    fast = mersenne.python_state(generator)
    monkeypatch.setattr(mersenne, "python_layout_matches", lambda: False)
    monkeypatch.setattr(mersenne, "_RawPython", None)
    assert mersenne.python_state(generator) == fast
    expected = generator.getstate()
    generator.random()
    mersenne.set_python_state(generator, fast)
    assert generator.getstate() == expected


@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [
        (sys, "_is_gil_enabled", lambda: False),
        (sys.implementation, "name", "another"),
        (mersenne, "_RAW_BYTES", 2**20),
        (mersenne, "_HEAD", object.__basicsize__ + 4),
        (mersenne, "_HEAD", object.__basicsize__ - 4),
    ],
    ids=["threads without a lock", "another interpreter", "too small", "shifted up", "shifted down"],
)
def test_the_check_of_pythons_layout_refuses_what_it_does_not_know(monkeypatch, owner, name, value):
    assert mersenne.python_layout_matches.__wrapped__()
    monkeypatch.setattr(owner, name, value, raising=False)
    assert not mersenne.python_layout_matches.__wrapped__()


def test_the_registered_generator_and_its_subclass_save_the_same_and_load_each_other():
    seeder = rs.init(master_seed=1)
    plain_one, own = random.Random(7), Counted(7)
    for one in (plain_one, own):
        one.gauss(0, 1)
    handlers = [objects.handler_of(one) for one in (plain_one, own)]
    first, second = (h.to_plain(h.snapshot(one)) for h, one in zip(handlers, (plain_one, own), strict=True))
    assert first == second
    expected = own.getstate()
    for one, handler in zip((plain_one, own), handlers, strict=True):
        one.seed(0)
        handler.restore(one, handler.from_plain(first, one))
        assert one.getstate() == expected
    assert seeder.master_seed == 1


# --- what the fast copy must not do -----------------------------------------------------------------------------------


class CopyMadeError(Exception):
    """A copy in memory was made where it may not be."""


def _no_copy(*args):
    raise CopyMadeError


def test_an_unknown_layout_of_numpy_uses_the_plain_calls(monkeypatch):
    random_state = np.random.RandomState(5)
    random_state.standard_normal()
    fast = numpy_state(random_state)
    with monkeypatch.context() as patch:
        patch.setattr(mersenne, "layout_matches", lambda: False)
        patch.setattr(ctypes, "memmove", _no_copy)
        patch.setattr(ctypes, "string_at", _no_copy)
        assert numpy_state(random_state) == fast
        random_state.randn(3)
        set_numpy_state(random_state, fast)
        assert numpy_state(random_state) == fast
        seed_numpy(random_state, bytes(range(156)) * 16)
    twin = np.random.RandomState(1)
    seed_numpy(twin, bytes(range(156)) * 16)
    assert plain(random_state) == plain(twin)


def test_the_check_of_numpys_layout_compares_memory_with_the_public_state(monkeypatch):
    assert mersenne.layout_matches()
    monkeypatch.setattr(ctypes, "string_at", lambda address, size: bytes(size))
    assert not mersenne.layout_matches.__wrapped__()


class PlainLock:
    """NumPy's MT19937 as it looks before 2.4: its lock is not reentrant."""

    def __init__(self, bit_generator):
        self.lock = threading.Lock()
        self.ctypes = bit_generator.ctypes


def test_a_lock_that_is_not_reentrant_is_not_held_and_only_bypassed_while_one_thread_runs():
    guard = mersenne._guard(PlainLock(np.random.MT19937(0)))
    assert guard is mersenne._UNGUARDED if threading.active_count() == 1 else guard is None
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert mersenne._guard(PlainLock(np.random.MT19937(0))) is None
    finally:
        stop.set()
        thread.join()


THREADS = """
import threading
import numpy as np
from reproseed.sources import objects
from reproseed.sources.numpy import NumpySource
from reproseed.streams import Stream
from reproseed.address import Address

source, stop, errors = NumpySource(), threading.Event(), []

def draw():
    while not stop.is_set():
        np.random.standard_normal(3)
        np.random.random_sample(7)

def scope():
    try:
        for n in range(200):
            state = source.snapshot()
            source.seed(Stream(n, Address(), "numpy"))
            np.random.standard_normal()
            source.restore(state)
    except BaseException as error:
        errors.append(error)

drawing = [threading.Thread(target=draw) for _ in range(2)]
scoping = [threading.Thread(target=scope) for _ in range(2)]
for thread in drawing + scoping:
    thread.start()
for thread in scoping:
    thread.join()
stop.set()
for thread in drawing:
    thread.join()
assert not errors, errors
name, key, position, has_gauss, gauss = np.random.get_state()
assert 0 <= position <= 624
print("no hang")
"""


def test_several_threads_on_the_global_generator_neither_hang_nor_break_it():
    """A plain lock held around ``standard_normal`` waits for ever; real threads, a real time-out."""
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, timeout=120)
    assert done.stdout == "no hang\n", done.stderr


# --- torch ------------------------------------------------------------------------------------------------------------

words_of_state = st.binary(min_size=mersenne.KEY_BYTES, max_size=mersenne.KEY_BYTES)


def full(words, initial_seed=bytes(8)):
    generator = torch.Generator()
    mersenne.set_torch_state(generator, mersenne.full_torch_state(words, initial_seed))
    return generator


def raw_words(generator, n):
    return torch.empty(n, dtype=torch.int32).random_(generator=generator).tolist()


@given(words_of_state, st.binary(min_size=8, max_size=8))
def test_a_full_torch_state_draws_what_numpys_mersenne_twister_draws_on_the_same_words(words, initial_seed):
    generator = full(words, initial_seed)
    legacy = np.random.RandomState()
    seed_numpy(legacy, words)
    expected = legacy.randint(0, 2**32, size=1300, dtype=np.uint32) & (2**31 - 1)
    assert raw_words(generator, 1300) == expected.tolist()
    assert generator.initial_seed() == int.from_bytes(initial_seed, "little")


@given(words_of_state)
def test_a_full_torch_state_has_no_cached_normal(words):
    generator = torch.Generator().manual_seed(1)
    torch.normal(0.0, 1.0, (1,), generator=generator)
    mersenne.set_torch_state(generator, mersenne.full_torch_state(words, bytes(8)))
    one = torch.normal(0.0, 1.0, (1,), generator=generator)
    assert torch.equal(one, torch.normal(0.0, 1.0, (1,), generator=full(words)))


TORCH_DRAWS = {
    "normal": lambda g: torch.normal(0.0, 1.0, (1,), generator=g),
    "normals": lambda g: torch.randn(17, generator=g),
    "double": lambda g: torch.randn(1, generator=g, dtype=torch.float64),
    "rand": lambda g: torch.rand(3, generator=g),
    "perm": lambda g: torch.randperm(5, generator=g),
    "bernoulli": lambda g: torch.empty(4).bernoulli_(0.3, generator=g),
    "int": lambda g: torch.randint(0, 2**40, (1,), generator=g),
    "many": lambda g: torch.rand(700, generator=g),
}


@given(st.integers(0, 2**63), *[st.lists(st.sampled_from(sorted(TORCH_DRAWS)), max_size=8)] * 3)
def test_a_torch_state_that_is_put_back_draws_on_as_get_state_and_set_state_would(seed, before, between, after):
    generator, twin = torch.Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
    for one in (generator, twin):
        for name in before:
            TORCH_DRAWS[name](one)
    saved, saved_plainly = mersenne.torch_state(generator), twin.get_state()
    for name in between:
        TORCH_DRAWS[name](generator)
        TORCH_DRAWS[name](twin)
    mersenne.set_torch_state(generator, saved)
    twin.set_state(saved_plainly)
    assert torch.equal(generator.get_state(), twin.get_state())
    assert saved == mersenne.torch_state(generator) == bytes(saved_plainly.numpy())
    assert all(torch.equal(TORCH_DRAWS[name](generator), TORCH_DRAWS[name](twin)) for name in after)


def _pickled(generator):
    clone = torch.Generator()
    clone.set_state(pickle.loads(pickle.dumps(generator.get_state())))
    return clone


@pytest.mark.parametrize(
    "clone", [copy.deepcopy, _pickled, lambda g: g.clone_state()], ids=["deepcopy", "pickle", "clone"]
)
def test_a_generator_with_a_full_state_can_be_copied(clone):
    generator = full(bytes(range(156)) * 16, b"12345678")
    try:
        other = clone(generator)
    except (TypeError, AttributeError) as error:  # torch.Generator has no deepcopy in older versions
        pytest.skip(f"torch {torch.__version__}: {error}")
    assert raw_words(other, 700) == raw_words(generator, 700)
    assert other.initial_seed() == generator.initial_seed()


def test_a_state_of_another_size_is_refused():
    with pytest.raises(ValueError, match=r"a state of 16 bytes for a generator whose state has 5056"):
        mersenne.set_torch_state(torch.Generator(), bytes(16))


def test_the_check_of_torchs_layout_fails_where_the_words_stand_elsewhere(monkeypatch):
    real = mersenne.torch_state
    assert mersenne.torch_template.__wrapped__() is not None
    for broken in (lambda g: real(g)[8:] + real(g)[:8], lambda g: real(g)[:-1] + b"\1" * (g.initial_seed() == 1)):
        monkeypatch.setattr(mersenne, "torch_state", broken)
        assert mersenne.torch_template.__wrapped__() is None


def _use(seen):
    """Enter a scope and take all that it gives; in the first use, the layouts are checked under the mode too."""
    with rs.seeded(master_seed=5, task="mode", restore=True) as scope:
        seen.append(mersenne.torch_state(torch.default_generator))
        seen.append(mersenne.torch_state(scope.stream("own").torch_generator()))
        seen.append(np.random.random_sample())
        seen.append(tuple(rs.current().seeds().values()))


def _default_device(use):
    torch.set_default_device("meta")
    try:
        use()
    finally:
        torch.set_default_device(None)


def _default_dtype(use):
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float16)
    try:
        use()
    finally:
        torch.set_default_dtype(before)


def _under(context):
    def run_there(use):
        with context():
            use()

    return run_there


def _backward_hook(use):
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda gradient: (use(), gradient)[1])
    x.sum().backward()


class Refuse(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        raise AssertionError(f"{function} was dispatched")


MODES = {
    "meta device": _under(lambda: torch.device("meta")),
    "default device": _default_device,
    "default dtype": _default_dtype,
    "inference mode": _under(torch.inference_mode),
    "FakeTensorMode": _under(FakeTensorMode),
    "make_fx": lambda use: make_fx(lambda x: (use(), x + 1)[1])(torch.ones(2)),
    "make_fx, fake": lambda use: make_fx(lambda x: (use(), x + 1)[1], tracing_mode="fake")(torch.ones(2)),
    "func.grad": lambda use: torch.func.grad(lambda x: (use(), x.sin())[1])(torch.tensor(1.0)),
    "func.vmap": lambda use: torch.func.vmap(lambda x: (use(), x + 1)[1], randomness="same")(torch.ones(3)),
    "func.functionalize": lambda use: torch.func.functionalize(lambda x: (use(), x + 1)[1])(torch.ones(3)),
    "backward hook": _backward_hook,
    "no tensor operation at all": _under(Refuse),
}


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_scopes_work_under_every_mode_of_torch_from_the_first_use_on(mode):
    without, under = [], []
    _use(without)
    before = rs.snapshot()
    mersenne.torch_template.cache_clear()
    mersenne.layout_matches.cache_clear()
    mode(lambda: _use(under))
    assert before.moved() == []
    assert under[:4] == without
    assert under == without * (len(under) // 4)


def test_the_state_of_python_is_no_part_of_this_module():
    before = random.getstate()
    numpy_state(np.random.RandomState(1))
    mersenne.torch_state(torch.Generator())
    assert random.getstate() == before
