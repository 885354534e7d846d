"""What people get wrong: each is answered by a clear sentence, and nothing has changed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import reproseed as rs
from reproseed import run, stack
from reproseed.state import seal, unseal


def _state(**parts: Any) -> dict[str, Any]:
    """Return a checkpoint of another seeder with parts changed, sealed as if saved so."""
    return seal(unseal(rs.Seeder(42).state_dict()) | parts)


def _edited(name: str, value: Any) -> dict[str, Any]:
    return rs.Seeder(42).state_dict() | {name: value}


def _without(name: str) -> dict[str, Any]:
    state = rs.Seeder(42).state_dict()
    del state[name]
    return state


def _enter(*args: Any, **keywords: Any) -> None:
    with rs.seeded(*args, **keywords):
        pass


class Refusing:
    """A generator that cannot be seeded, once it was registered."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.ready = False

    def seed(self, seed: int) -> None:
        if self.ready and self.where == "seed":
            raise OSError("no seed")

    def getstate(self) -> int:
        if self.ready and self.where == "read":
            raise OSError("no state")
        return 1

    def setstate(self, state: int) -> None: ...


def _refusing(where: str) -> None:
    generator = Refusing(where)
    rs.register_generator(generator, name=f"refusing {where}")
    generator.ready = True
    try:
        _enter(task="x")
    finally:
        rs.unregister_generator(generator)


def _steps_outside() -> None:
    stack_before = stack.entries()
    assert not stack_before
    rs.steps(3)


def _decorate_property() -> Any:
    return rs.seeded(task="x")(property(lambda self: 0))


def _raising(_: int) -> None:
    raise ValueError("cannot seed")


def _no_epoch(model: Any, loader: Any, ep: int) -> None: ...


def _persistent() -> None:
    loader = torch.utils.data.DataLoader(range(4), num_workers=1, persistent_workers=True)
    _in_scope(lambda: rs.steps(loader))


def _in_scope(call: Callable[[], Any]) -> None:
    with rs.seeded(task="x", epoch=0, restore=True):
        call()


def _two_loops() -> None:
    for _ in zip(rs.steps(2), rs.steps(2)):  # noqa: B905 - the mistake of the case
        pass


E = rs.ReproseedError
BAD: dict[str, tuple[Callable[[], Any], type[BaseException], str]] = {
    # first-hour.md, rows 1 to 4, 7, 10, 13, 16, 17
    "init(seed=)": (lambda: rs.init(seed=1), TypeError, "init() has no 'seed'; the run's seed is master_seed=1."),
    "init(unknown=)": (lambda: rs.init(sead=1), TypeError, "init() has no argument 'sead'; it has master_seed, ngpus"),
    "seeded(42)": (
        lambda: rs.seeded(42),
        TypeError,
        "seeded() takes keywords: seeded(master_seed=42) for a seed, seeded(task=42) for a task.",
    ),
    "seeded(seed=)": (lambda: rs.seeded(seed=42), TypeError, "'seed' is no coordinate; did you mean master_seed=42?"),
    "seeded(epcoh=)": (
        lambda: rs.seeded(task="t", epcoh=3),
        TypeError,
        "unknown coordinate 'epcoh'; did you mean 'epoch'? Choose another name for one of your own.",
    ),
    "seeded(restor=)": (
        lambda: rs.seeded(restor=True),
        TypeError,
        "unknown coordinate 'restor'; did you mean 'restore'",
    ),
    "seeded_epoch without epoch": (
        lambda: rs.seeded_epoch(_no_epoch),
        TypeError,
        "_no_epoch has no parameter 'epoch' (it has: model, loader, ep); write seeded_epoch(epoch=\"ep\").",
    ),
    "persistent workers": (_persistent, rs.ScopeError, "Workers that outlive an epoch keep old streams"),
    "another seed": (
        lambda: rs.load_state_dict(_state()),
        rs.StateMismatchError,
        "Checkpoint has master seed 42, this run 7: leave the seed out, pass 42, or start a new run.",
    ),
    "init with another seed": (
        lambda: rs.init(8, resume=_state()),
        rs.StateMismatchError,
        "Checkpoint has master seed 42, this run 8",
    ),
    # seeds
    "seed -1": (lambda: rs.init(-1), ValueError, "[0, 2**64)"),
    "seed 2**64": (lambda: rs.init(2**64), ValueError, "[0, 2**64)"),
    "seed 10**30": (lambda: rs.Seeder(10**30), ValueError, "[0, 2**64)"),
    "seed True": (lambda: rs.init(True), TypeError, "bool"),
    "seed 1.0": (lambda: rs.init(1.0), TypeError, "float"),
    "seed '1'": (lambda: rs.init("1"), TypeError, "str"),
    "scope's seed -1": (lambda: rs.seeded(master_seed=-1), ValueError, "[0, 2**64)"),
    "task seed -1": (lambda: rs.init(1, task_seeds={"init": -1}), ValueError, "[0, 2**64)"),
    "task seeds 7": (lambda: rs.init(1, task_seeds=7), TypeError, "task_seeds=7 must be a dict of master seeds"),  # type: ignore[arg-type]
    "task seeds of None": (lambda: rs.init(1, task_seeds={None: 7}), TypeError, "coordinate task=None has no value"),
    "derivation 2": (lambda: rs.init(1, derivation=2), E, "derivation"),
    "devices": (
        lambda: rs.init(1, devices="all"),
        TypeError,
        "init(devices='all'): allowed are 'same' and 'distinct'.",
    ),  # type: ignore[arg-type]
    # coordinates
    "bool": (lambda: rs.seeded(task=True), TypeError, "coordinate task=True is a bool; allowed are an int or a str."),
    "float": (lambda: rs.seeded(epoch=1.5), TypeError, "coordinate epoch=1.5 is a float; allowed are an int or a str."),
    "array": (
        lambda: rs.seeded(epoch=np.arange(3)),
        TypeError,
        "coordinate epoch is a ndarray of shape (3,); allowed are an int or a str, so pass one element of it.",
    ),
    "tensor of floats": (
        lambda: rs.seeded(epoch=torch.tensor(1.0)),
        TypeError,
        "coordinate epoch=tensor(1.) is a Tensor",
    ),
    "none": (lambda: rs.seeded(fold=None), TypeError, "coordinate fold=None has no value"),
    "too large": (lambda: rs.seeded(epoch=2**63), ValueError, "allowed are integers in [-2**63, 2**63)."),
    "surrogate": (lambda: rs.seeded(task="\ud800"), ValueError, "holds a lone surrogate"),
    "reserved rank": (lambda: rs.seeded(rank=1), TypeError, "'rank' is no coordinate; it is added by itself"),
    "reserved phase": (lambda: rs.seeded(phase="x"), TypeError, "'phase' is no coordinate; steps() sets it."),
    "no identifier": (lambda: rs.seeded(**{"a b": 1}), TypeError, "coordinate name 'a b' is not an ASCII identifier"),
    "shared=1": (lambda: rs.seeded(shared=1), TypeError, "shared=1 must be True or False"),  # type: ignore[arg-type]
    "restore='yes'": (lambda: rs.seeded(restore="yes"), TypeError, "restore='yes' must be True, False or None."),  # type: ignore[arg-type]
    "bare decorator": (
        lambda: rs.seeded(_no_epoch),
        TypeError,
        "@seeded needs parentheses and a task: write @seeded(task=...).",
    ),
    "seeded_epoch(epoch=3)": (lambda: rs.seeded_epoch(epoch=3), TypeError, "the name of an argument is wanted"),  # type: ignore[call-overload]
    "a property": (_decorate_property, rs.DecorationError, "property"),
    "a class": (lambda: rs.seeded(task="x")(Refusing), rs.DecorationError, "class"),
    "arg in a with block": (lambda: _enter(task="x", fold=rs.arg("fold")), TypeError, "a `with` block has none"),
    # loops
    "steps outside": (_steps_outside, rs.ScopeError, "steps() needs the address of an open scope"),
    "steps(None)": (lambda: _in_scope(lambda: rs.steps(None)), TypeError, "steps() takes something to iterate over"),  # type: ignore[arg-type]
    "steps(-1)": (lambda: _in_scope(lambda: rs.steps(-1)), ValueError, "steps=-1 is out of range"),
    "steps(name='epoch')": (
        lambda: _in_scope(lambda: rs.steps(1, "epoch")),
        TypeError,
        "a coordinate's name is wanted",
    ),
    "two loops": (lambda: _in_scope(_two_loops), rs.ScopeError, "name"),
    "epochs(1.5)": (lambda: rs.epochs(1.5), TypeError, "epochs=1.5 is a float; an int is wanted."),  # type: ignore[arg-type]
    "epochs(-1)": (lambda: rs.epochs(-1), ValueError, "epochs=-1 is out of range; it must be at least 0."),
    "epochs(name='task')": (lambda: rs.epochs(1, "task"), TypeError, "epochs(name='task'): a coordinate's name"),
    "current outside": (rs.current, rs.ScopeError, "no scope is open here: call current() inside"),
    "preserved(check=1)": (lambda: rs.preserved(check=1), TypeError, "allowed are 'error', 'warn' and None."),  # type: ignore[arg-type]
    # streams and generators
    "stream()": (lambda: rs.stream(""), TypeError, "a name is wanted, a text that is not empty"),
    "stream(rank=)": (lambda: rs.stream("x", rank=1), TypeError, "'rank' is no coordinate"),
    "bits=0": (lambda: rs.stream("x").seed(0), ValueError, "bits=0 is out of range; it must be at least 1"),
    "no generator": (lambda: rs.register_generator(7), TypeError, "cannot register a int: expected a torch.Generator"),
    "a generator class": (lambda: rs.register_generator(random.Random), TypeError, "register an object, not the class"),
    "system random": (
        lambda: rs.register_generator(random.SystemRandom()),
        TypeError,
        "cannot be seeded; use random.Random",
    ),
    "nothing": (rs.register_generator, TypeError, "takes a generator or within=, an object that holds some"),
    "within nothing": (
        lambda: rs.register_generator(within=[1]),
        TypeError,
        "within=list: no generator was found in it",
    ),
    "empty name": (
        lambda: rs.register_generator(random.Random(), name=""),
        TypeError,
        "must be a text that is not empty",
    ),
    "not registered": (lambda: rs.unregister_generator("x"), TypeError, "'x' is not registered; registered are: none"),
    "a callable that raises": (lambda: rs.register_generator(_raising), ValueError, "cannot seed"),
    "a generator that raises when seeded": (lambda: _refusing("seed"), OSError, "no seed"),
    "a generator that raises when read": (lambda: _refusing("read"), OSError, "no state"),
    # ranks
    "rank beyond": (lambda: rs.init(1, rank=4, world_size=4), rs.RankError, "rank 4 does not lie in a world of 4"),
    "world without rank": (lambda: rs.init(1, world_size=4), rs.RankError, "world_size=4 was given without rank"),
    "drawn on 2 ranks": (lambda: rs.init(rank=0, world_size=2), rs.RankError, "the drawn seed cannot be shared yet"),
    "coordinates": (lambda: rs.init(1, coordinates={"task": 1}), TypeError, "'task' is set by scopes"),
    # checkpoints
    "no checkpoint": (lambda: rs.load_state_dict(7), rs.StateError, "this is a int."),  # type: ignore[arg-type]
    "the whole file": (
        lambda: rs.load_state_dict({"model": {}, "rng": rs.state_dict()}),
        rs.StateError,
        "the checkpoint lacks 'format'",
    ),
    "cut": (lambda: rs.load_state_dict(_without("snapshot")), rs.StateError, "the checkpoint lacks 'snapshot'"),
    "edited": (lambda: rs.load_state_dict(_edited("rank", 3)), rs.StateError, "part 'rank' is damaged"),
    "newer": (lambda: rs.load_state_dict(_edited("format", 2)), rs.StateError, "has format 2; this version"),
    "cut text": (lambda: rs.load_state_dict(rs.Seeder(7).to_json()[:-9]), rs.StateError, "text is no JSON"),
    "resume cut": (lambda: rs.init(resume=_without("rank")), rs.StateError, "the checkpoint lacks 'rank'"),
    "other derivation": (
        lambda: rs.load_state_dict(_state(master_seed=7, derivation=3)),
        rs.StateMismatchError,
        "Checkpoint has derivation 3, this run 1: pass init(derivation=3).",
    ),
    "other task seeds": (
        lambda: rs.load_state_dict(_state(master_seed=7, task_seeds={"str:a": 1})),
        rs.StateMismatchError,
        "Checkpoint has task seeds {'a': 1}, this run {}",
    ),
    "damaged position": (
        lambda: rs.load_state_dict(_state(master_seed=7, position={"tasks": [{"address": 3}], "epochs": []})),
        rs.StateError,
        "the checkpoint's part 'position' is damaged",
    ),
    "resume=": (
        lambda: rs.state_dict("again"),
        TypeError,
        "state_dict(resume='again'): allowed are 'next' and 'same'.",
    ),  # type: ignore[arg-type]
}


def _all() -> tuple[Any, ...]:
    seeder = run._current
    assert seeder is not None
    fields = {name: value for name, value in vars(seeder).items() if name not in ("registry", "progress", "_derived")}
    return seeder, fields, seeder.progress.loaded, [s.name for s in seeder.registry], stack.entries()


@pytest.mark.parametrize("name", BAD)
def test_a_bad_input_is_answered_clearly_and_changes_nothing(name, monkeypatch):
    for variable in ("REPROSEED_MASTER_SEED", "RANK", "WORLD_SIZE"):
        monkeypatch.delenv(variable, raising=False)
    call, kind, sentence = BAD[name]
    rs.init(master_seed=7)
    before, place = rs.snapshot(), _all()
    with pytest.raises(kind, match=re.escape(sentence)):
        call()
    assert rs.snapshot() == before, rs.snapshot().differs(before)
    assert _all() == place


def test_there_are_at_least_forty():
    assert len(BAD) >= 40


UNBEGUN = {
    "get_master_seed": rs.get_master_seed,
    "a scope": lambda: _enter(task="x"),
    "reseed": lambda: rs.reseed(0, 0),
    "a decorated function": rs.seeded(task="x")(lambda: None),
    "register_generator": lambda: rs.register_generator(random.Random()),
    "state_dict": rs.state_dict,
    "epochs": lambda: rs.epochs(1),
    "stream": lambda: rs.stream("x"),
}


@pytest.mark.parametrize("name", UNBEGUN)
def test_a_forgotten_init_says_what_to_call_and_changes_nothing(name):
    before = rs.snapshot()
    sentence = re.escape("No run: call rs.init(master_seed=...) first, or give this scope master_seed=... .")
    with pytest.raises(rs.NotInitializedError, match=sentence):
        UNBEGUN[name]()
    assert rs.snapshot() == before
    assert not rs.is_initialized()


def test_a_scope_without_with_warns():
    rs.init(1)
    with pytest.warns(rs.UnenteredScopeWarning, match="This scope was never entered and seeded nothing: write `with"):
        rs.seeded(task="init")


def test_two_bare_seeded_epochs_warn():
    rs.init(1)

    @rs.seeded_epoch
    def train(epoch):
        return random.random()

    @rs.seeded_epoch
    def validate(epoch):
        return random.random()

    train(0)
    message = "train and validate both use task=1 and draw the same numbers; give validate its own task."
    with pytest.warns(rs.RepeatedAddressWarning, match=message):
        validate(0)


def test_a_decorated_getitem_warns():
    rs.init(1)

    @rs.seeded(task="aug")
    def item(index):
        return random.random()

    message = r"\(task='aug'\) was entered 17 times inside \(epoch=0, task='train'\): every call draws the same numbers"
    with rs.seeded(task="train", epoch=0):
        for index in range(16):
            item(index)
        with pytest.warns(rs.RepeatedAddressWarning, match=message):
            item(16)


class Worker(torch.utils.data.Dataset[Any]):
    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> str:
        try:
            _enter(task="aug")
        except rs.NotInitializedError as error:
            return str(error)
        return "no error"


def test_a_scope_in_a_worker_says_what_to_use():
    rs.init(1)
    loader = torch.utils.data.DataLoader(Worker(), num_workers=1, batch_size=None)
    expected = (
        "DataLoader worker 0 has no run: wrap the dataset in rs.data.SampleSeeded, or pass "
        "worker_init_fn=rs.data.seed_worker."
    )
    assert list(loader) == [expected] * 2
