"""Generators that the user registers: every form, by its own name, held as it must be, seeded, read and put back."""

from __future__ import annotations

import functools
import gc
import random

import numpy as np
import pytest
import torch
from labels import label

import reproseed as rs
from reproseed.errors import CoordinateTypeError, NotRestorableWarning, SourceError
from reproseed.state import from_json, to_json, unseal


class WithGetstate:
    def __init__(self):
        self.rng = random.Random(0)
        self.seeds = []

    def seed(self, seed):
        self.seeds.append(seed)
        self.rng.seed(seed)

    def getstate(self):
        return self.rng.getstate()

    def setstate(self, state):
        self.rng.setstate(state)

    def draw(self):
        return self.rng.random()


class WithGetState(WithGetstate):
    getstate = setstate = None

    def get_state(self):
        return {"state": self.rng.getstate(), "bits": np.arange(3), "name": "x", "none": None, "half": 0.5}

    def set_state(self, state):
        assert isinstance(state["bits"], np.ndarray)
        self.rng.setstate(state["state"])


class WithStateDict(WithGetstate):
    """Hands out the very container that it goes on to change."""

    getstate = setstate = None

    def __init__(self):
        super().__init__()
        self.state = {"words": [1, 2, 3], "step": 0}

    def seed(self, seed):
        self.state.update(words=[seed, seed + 1, seed + 2], step=0)

    def state_dict(self):
        return self.state

    def load_state_dict(self, state):
        self.state = state

    def draw(self):
        self.state["step"] += 1
        self.state["words"][0] += 7
        return (*self.state["words"], self.state["step"])


class ManualSeed(WithGetstate):
    """As torch.Generator: ``seed()`` takes nothing, ``manual_seed`` does."""

    def seed(self):
        raise AssertionError("seeds from the operating system")

    def manual_seed(self, seed):
        self.rng.seed(seed)


class Slots:
    """Cannot be held weakly."""

    __slots__ = ("value",)

    def seed(self, seed):
        self.value = seed

    def getstate(self):
        return self.value

    def setstate(self, state):
        self.value = state

    def draw(self):
        self.value += 1
        return self.value


FORMS = {
    "torch.Generator": (torch.Generator, lambda g: torch.rand(2, generator=g).tolist()),
    "torch normals": (torch.Generator, lambda g: torch.normal(0.0, 1.0, (1,), generator=g).tolist()),
    "numpy Generator": (np.random.default_rng, lambda g: g.standard_normal(3).tolist()),
    "numpy Philox": (lambda: np.random.Generator(np.random.Philox(1)), lambda g: g.random(3).tolist()),
    "numpy MT19937": (lambda: np.random.Generator(np.random.MT19937(1)), lambda g: g.random(3).tolist()),
    "numpy SFC64": (lambda: np.random.Generator(np.random.SFC64(1)), lambda g: g.integers(0, 9, 3, np.int8).tolist()),
    "RandomState": (np.random.RandomState, lambda g: g.standard_normal()),
    "RandomState on PCG64": (lambda: np.random.RandomState(np.random.PCG64(1)), lambda g: g.standard_normal()),
    "random.Random": (random.Random, lambda g: g.gauss(0, 1)),
    "subclass of Random": (type("Own", (random.Random,), {}), lambda g: g.random()),
    "seed, getstate, setstate": (WithGetstate, lambda g: g.draw()),
    "seed, get_state, set_state": (WithGetState, lambda g: g.draw()),
    "seed, state_dict": (WithStateDict, lambda g: g.draw()),
    "manual_seed": (ManualSeed, lambda g: g.draw()),
    "slots": (Slots, lambda g: g.draw()),
}
forms = pytest.mark.parametrize(("make", "draw"), FORMS.values(), ids=FORMS)


@forms
def test_a_registered_generator_is_seeded_by_scopes_and_put_back(make, draw):
    rs.init(1)
    one, other = make(), make()
    rs.register_generator(one, name="one")
    rs.register_generator(other, name="other")
    base = draw(one)
    assert base != draw(other), "two equal generators draw alike"
    expected_next = None
    with rs.preserved():
        expected_next = [draw(one), draw(one)]
    with rs.seeded(task="a", epoch=0, restore=True):
        first = [draw(one), draw(one), draw(other)]
    with rs.seeded(task="a", epoch=0, restore=True):
        assert [draw(one), draw(one), draw(other)] == first
    with rs.seeded(task="a", epoch=1, restore=True):
        assert [draw(one), draw(one), draw(other)] != first
    assert [draw(one), draw(one)] == expected_next


@forms
def test_a_registered_generator_continues_from_a_checkpoint(make, draw):
    """Through torch's types and through JSON, which knows no tuple."""
    rs.init(1)
    generator = make()
    rs.register_generator(generator, name="own")
    draw(generator)
    saved = rs.state_dict()
    text = to_json(saved)
    expected = [draw(generator), draw(generator)]
    for state in (saved, from_json(text)):
        draw(generator)
        rs.load_state_dict(state)
        assert [draw(generator), draw(generator)] == expected
    assert unseal(from_json(text))["snapshot"]["own"] == unseal(saved)["snapshot"]["own"]


@forms
def test_registration_inside_a_scope_seeds_for_that_scopes_address_at_once(make, draw):
    rs.init(1)
    early, late = make(), make()
    rs.register_generator(early, name="g")
    with rs.seeded(task="a", epoch=5, restore=True):
        expected = draw(early)
    rs.init(1)
    with rs.seeded(task="a", epoch=5):
        rs.register_generator(late, name="g")
        assert draw(late) == expected


# --- names, sharing ---------------------------------------------------------------------------------------------------


def names():
    return [name for name in rs.snapshot().states if name not in ("python", "numpy", "torch.cpu")]


def test_names_are_type_and_order_of_registration_by_default():
    rs.init(1)
    kept = [random.Random(), torch.Generator(), random.Random(), WithGetstate()]
    for one in kept:
        rs.register_generator(one)
    assert names() == ["Random.0", "Generator.0", "Random.1", "WithGetstate.0"]


def test_a_default_name_keeps_clear_of_a_name_that_the_user_gave():
    rs.init(1)
    kept = [random.Random(), random.Random()]
    rs.register_generator(kept[0], name="Random.0")
    rs.register_generator(kept[1])
    assert names() == ["Random.0", "Random.1"]


@pytest.mark.parametrize(
    "bad", [random, np.random, torch, random.seed, np.random.seed, torch.manual_seed, torch.cuda.manual_seed_all],
    ids=lambda one: f"{getattr(one, '__module__', '')}.{one.__name__}",
)  # fmt: skip
def test_what_seeds_the_process_is_no_generator_of_ones_own(bad):
    rs.init(master_seed=1)
    with pytest.raises(rs.SourceError, match=r"seeds a generator of the process, which scopes reach anyhow"):
        rs.register_generator(bad)


@pytest.mark.parametrize("bad", [object(), 3, "text", random.Random, random.SystemRandom()], ids=label)
def test_a_refused_generator_does_not_count_in_the_names_of_the_next(bad):
    rs.init(1)
    with pytest.raises(SourceError, match=r"cannot register a|not the class|cannot be seeded"):
        rs.register_generator(bad)
    kept = random.Random()
    rs.register_generator(kept)
    assert names() == ["Random.0"]


def test_a_generator_that_raises_when_seeded_is_not_registered_and_does_not_count():
    class Failing:
        broken = True

        def seed(self, seed):
            if self.broken:
                raise OSError("no device")

        def getstate(self):
            return 0

        def setstate(self, state): ...

    rs.init(1)
    failing = Failing()
    with pytest.raises(OSError, match="no device"):
        rs.register_generator(failing)
    assert names() == []
    failing.broken = False
    rs.register_generator(failing)
    assert names() == ["Failing.0"]


def test_a_name_that_is_taken_is_refused():
    rs.init(1)
    one, other = random.Random(), random.Random()
    rs.register_generator(one, name="crop")
    with pytest.raises(SourceError, match="the name 'crop' is taken by another generator; give this one a name"):
        rs.register_generator(other, name="crop")


@pytest.mark.parametrize("name", ["", 3, b"x"])
def test_a_name_that_is_no_text_is_refused(name):
    rs.init(1)
    with pytest.raises(SourceError, match="must be a text that is not empty"):
        rs.register_generator(random.Random(), name=name)


def test_registering_twice_changes_nothing():
    rs.init(1)
    one = random.Random()
    rs.register_generator(one, name="crop")
    drawn = one.random()
    rs.register_generator(one)
    rs.register_generator(one, name="other")
    assert names() == ["crop"]
    assert one.random() != drawn, "the second registration seeded it again"


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(lambda: WithGetstate().seed, id="method"),
        pytest.param(lambda: torch.Generator().manual_seed, id="builtin-method"),
        pytest.param(lambda: np.random.RandomState(0).seed, id="cython-method"),
    ],
)
def test_a_bound_method_is_the_same_at_every_access(method):
    rs.init(1)
    bound = method()
    rs.register_generator(bound)
    rs.register_generator(getattr(bound.__self__, bound.__name__))
    assert len(_callables()) == 1
    rs.unregister_generator(getattr(bound.__self__, bound.__name__))
    assert _callables() == []


def _callables():
    from reproseed import run

    return [source.name for source in run.current_seeder().registry if not source.restorable]


@pytest.mark.parametrize(
    "own",
    [lambda: torch.default_generator, lambda: np.random.mtrand._rand, lambda: random._inst],
    ids=["torch", "numpy", "python"],
)
def test_the_processs_own_generators_are_registered_already(own):
    rs.init(1)
    rs.register_generator(own())
    assert names() == []


def test_shared_generators_draw_alike_on_all_ranks_and_others_do_not():
    drawn = []
    for rank in range(2):
        rs.init(1, rank=rank, world_size=2)
        shared, private = random.Random(), random.Random()
        rs.register_generator(shared, True, name="shared")
        rs.register_generator(private, name="private")
        with rs.seeded(task="a"):
            drawn.append((shared.random(), private.random()))
    assert drawn[0][0] == drawn[1][0]
    assert drawn[0][1] != drawn[1][1]


# --- holding ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [random.Random, torch.Generator, WithGetstate], ids=lambda make: make.__name__)
def test_an_object_is_held_weakly_and_skipped_once_it_is_dead(make):
    rs.init(1)
    generator = make()
    rs.register_generator(generator, name="dying")
    with rs.seeded(task="a"), rs.preserved(check="error"):
        assert "dying" in names()
        del generator
        gc.collect()
        assert names() == []
    rs.state_dict()


def test_the_name_of_a_dead_generator_is_free_again():
    """A cell of a notebook that is run again."""
    rs.init(1)
    for _ in range(2):
        rng = random.Random()
        rs.register_generator(rng, name="crop")
        rng = None
        gc.collect()


def test_functions_and_partials_are_held_strongly():
    rs.init(1)
    calls = []
    rs.register_generator(lambda seed: calls.append(("lambda", seed)))
    rs.register_generator(functools.partial(lambda name, seed: calls.append((name, seed)), "partial"))
    rs.register_generator(WithGetstate().seed)
    gc.collect()
    calls.clear()
    rs.reseed(1)
    assert [name for name, _ in calls] == ["lambda", "partial"]
    assert len(_callables()) == 3


# --- callables --------------------------------------------------------------------------------------------------------


def test_a_callable_gets_31_bits_last_of_all():
    rs.init(1)
    order = []
    rs.register_generator(lambda seed: order.append(seed), name="first")
    late = WithGetstate()
    rs.register_generator(late)
    order.clear()
    late.seeds.clear()
    original = late.seed

    def seed(value):
        order.append("object")
        original(value)

    late.seed = seed
    rs.reseed(1, 2)
    assert order[0] == "object"
    assert type(order[1]) is int
    assert 0 <= order[1] < 2**31


def test_a_callable_is_called_again_with_the_enclosing_seed_and_one_warning_names_it():
    rs.init(1)
    seeds = []
    rs.register_generator(seeds.append, name="augment")
    with rs.seeded(task="train", epoch=3):
        seeds.clear()
        with (
            pytest.warns(NotRestorableWarning, match="^augment: a callable can be seeded, not read") as seen,
            rs.seeded(task="eval"),
        ):
            pass
        with rs.seeded(task="eval"):
            pass
    assert len(seen) == 1
    inner, outer, *again = seeds
    assert again[:2] == [inner, outer]
    seeds.clear()
    rs.reseed("train", 3)
    assert seeds == [outer]


def test_the_warning_made_an_error_still_lets_everything_be_put_back():
    rs.init(1)
    rs.register_generator(lambda seed: None, name="augment")
    before = rs.snapshot()
    scope = rs.seeded(task="eval", restore=True)
    scope.__enter__()
    random.random()
    with pytest.raises(NotRestorableWarning):  # as all warnings of these tests are errors
        scope.__exit__(None, None, None)
    assert before.moved() == []


@pytest.mark.parametrize(
    "entry", [lambda: rs.seeded(task="a").__enter__(), lambda: rs.reseed(1)], ids=["seeded", "reseed"]
)
def test_a_failing_callable_leaves_all_as_it_was_and_the_others_on_the_enclosing_seed(entry):
    rs.init(1)
    seeds, generator = [], random.Random()
    rs.register_generator(generator)
    rs.register_generator(seeds.append, name="good")
    fail = []

    def bad(seed):
        if fail and fail.pop():
            raise OSError("no such device")

    rs.register_generator(bad)
    base = seeds[-1]
    before = rs.snapshot()
    fail.append(True)
    with pytest.raises(OSError, match="no such device"), pytest.warns(NotRestorableWarning, match="good"):
        entry()
    assert before.moved() == []
    assert seeds[-1] == base
    with pytest.raises(rs.ScopeError):
        rs.current()


# --- within=, unregister ----------------------------------------------------------------------------------------------


class Flip:
    def __init__(self):
        self.rng = random.Random(0)


class Data:
    def __init__(self):
        self.transforms = [Flip(), Flip()]
        self.noise = np.random.default_rng(0)
        self.torch_rng = torch.Generator()


def test_within_registers_all_that_an_object_holds_under_their_paths():
    rs.init(1)
    data = Data()
    rs.register_generator(within=data, name="data")
    assert sorted(names()) == ["data.noise", "data.torch_rng", "data.transforms[0].rng", "data.transforms[1].rng"]
    with rs.seeded(task="a"):
        assert data.transforms[0].rng.random() != data.transforms[1].rng.random()
    rs.register_generator(within=data, name="data")
    rs.register_generator(within=data)
    assert len(names()) == 4
    rs.unregister_generator(data)
    assert names() == []


def test_within_adds_what_has_come_since():
    rs.init(1)
    data = Data()
    rs.register_generator(within=data, name="data")
    data.transforms.append(Flip())
    rs.register_generator(within=data, name="data")
    assert "data.transforms[2].rng" in names()
    assert len(names()) == 5


def test_within_registers_all_or_none():
    rs.init(1)
    data, taken = Data(), random.Random()
    rs.register_generator(taken, name="data.transforms[1].rng")
    with pytest.raises(SourceError, match="is taken"):
        rs.register_generator(within=data, name="data")
    assert names() == ["data.transforms[1].rng"]


def test_within_an_object_without_generators_says_so():
    rs.init(1)
    with pytest.raises(SourceError, match=r"within=list: no generator was found in it\. It may draw from the global"):
        rs.register_generator(within=[1, 2])


@pytest.mark.parametrize("arguments", [{}, {"gen": random.Random(), "within": []}], ids=["none", "both"])
def test_exactly_one_of_gen_and_within_is_wanted(arguments):
    rs.init(1)
    with pytest.raises(CoordinateTypeError, match="a generator or within=, an object that holds some: exactly one"):
        rs.register_generator(**arguments)


@pytest.mark.parametrize("by", ["generator", "name"])
def test_an_unregistered_generator_is_left_alone(by):
    rs.init(1)
    generator = random.Random()
    rs.register_generator(generator, name="crop")
    rs.unregister_generator(generator if by == "generator" else "crop")
    state = generator.getstate()
    rs.reseed(1)
    assert generator.getstate() == state
    with pytest.raises(SourceError, match="is not registered; registered are: none"):
        rs.unregister_generator(generator if by == "generator" else "crop")
