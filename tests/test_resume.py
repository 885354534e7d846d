"""What a checkpoint means: where a run that loads it goes on, and what it says where it cannot."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import reproseed as rs
from reproseed.state import seal, unseal

Log = list[Any]


def _draws() -> tuple[float, ...]:
    return random.random(), random.gauss(0, 1), float(np.random.randn()), float(torch.rand(()))


class Stopped(Exception):  # noqa: N818 - an end, not an error
    """The process ends here."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.state = state


def _stopped(script: Callable[..., Log], place: str, **keywords: Any) -> dict[str, Any]:
    """Run a script until it saves at a place; return what it saved."""

    def save(here: str, resume: Any = "next") -> None:
        if here == place:
            raise Stopped(rs.state_dict(resume))

    with pytest.raises(Stopped) as stop:
        script(save, **keywords)
    return stop.value.state


def _never(here: str, resume: Any = "next") -> None:
    return None


def _edited(state: dict[str, Any], **parts: Any) -> dict[str, Any]:
    """Return a checkpoint with other parts, sealed again as if it had been saved so."""
    return seal(unseal(state) | parts)


# --- where a run goes on -------------------------------------------------------------------------------------------


def _loop(save, state=None, restore=None, unscoped=True, load="init", steps=True) -> Log:
    """Run three epochs of three steps with an evaluation, drawing in set-up, between epochs and after loops too."""
    rs.init(None if state is not None and load == "init" else 11, resume=state if load == "init" else None)
    log: Log = [("setup", _draws())]
    with rs.seeded(task="init"):
        log.append(("weights", _draws()))
    if state is not None and load == "after":
        rs.load_state_dict(state)
    save("before")
    for epoch in rs.epochs(3):
        if unscoped:
            log.append((epoch, "unscoped", _draws()))
        with rs.seeded(task="train", epoch=epoch, restore=restore):
            save(f"{epoch} begins")
            if steps:
                for step, item in rs.steps(["a", "b", "c"]):
                    log.append((epoch, step, item, _draws()))
                    save(f"{epoch}.{step}")
            log.append((epoch, "after", _draws()))
            save(f"{epoch} after")
        save(f"{epoch} closed")
        with rs.seeded(task="eval", restore=True):
            for step, _ in rs.steps(2):
                log.append((epoch, "eval", step, _draws()))
                save(f"{epoch} eval {step}")
        save(f"{epoch} ends")
    return log


PLACES = ["before"] + [
    f"{epoch}{what}"
    for epoch in range(3)
    for what in (" begins", ".0", ".1", ".2", " after", " closed", " eval 0", " eval 1", " ends")
]


def _tail(full: Log, resumed: Log) -> Log:
    return full[len(full) - len(resumed) :]


def _rest(full: Log, place: str) -> Log:
    """Return what is left to be logged after a place."""
    if place == "before":
        return full[2:]
    epoch, what = int(place[0]), place[1:]
    key = {
        " begins": (epoch, "unscoped"),
        " after": (epoch, "after"),
        " closed": (epoch, "after"),
        " ends": (epoch, "eval", 1),
    }.get(what)
    if key is None:
        key = (epoch, int(what[1:])) if what.startswith(".") else (epoch, "eval", int(what[-1]))
    index = next(i for i, line in enumerate(full) if line[: len(key)] == key)
    return full[index + 1 :]


@pytest.mark.parametrize("load", ["init", "after"])
@pytest.mark.parametrize("restore", [None, True], ids=["leaves", "restores"])
@pytest.mark.filterwarnings("ignore:The step inside")
def test_every_place_of_saving_resumes_to_the_same_draws(restore, load):
    """Also what is drawn between epochs, under scopes that restore, and after set-up code that draws again."""
    full = _loop(_never, restore=restore)
    for place in PLACES:
        state = _stopped(_loop, place, restore=restore)
        resumed = _loop(_never, state, restore=restore, load=load)
        if load == "init":
            assert resumed[:2] == full[:2], f"set-up of a run resumed at {place}"
        _compare(full, resumed[2:], place)


def _compare(full: Log, resumed: Log, place: str) -> None:
    expected = _rest(full, place)
    # An epoch that is resumed in its middle begins again with what is not a step: the unscoped draws, which it repeats
    # from where the generators stand, the end of a loop that is done.
    epoch = place[0]
    if place[1:2] in (".", " ") and place[1:] not in (" ends", " closed"):
        resumed = [line for line in resumed if line[:2] != (int(epoch), "unscoped")]
        if " eval" in place:
            resumed = [line for line in resumed if line[:2] != (int(epoch), "after")]
        if place.endswith(" after"):
            resumed = resumed[1:] if resumed and resumed[0] == _line(full, (int(epoch), "after")) else resumed
    if place.endswith(" closed"):
        # The scopes of the epoch are closed: it is done, and so is its evaluation.
        expected = [line for line in expected if line[:2] != (int(epoch), "eval")]
    assert resumed == expected, place


def _line(full: Log, key: tuple[Any, ...]) -> Any:
    return next(line for line in full if line[: len(key)] == key)


@pytest.mark.filterwarnings("ignore:The step inside")
def test_an_epoch_whose_steps_are_unknown_is_not_trained_twice_for_a_save_inside_its_evaluation():
    full = _loop(_never, steps=False)
    state = _stopped(_loop, "1 eval 0", steps=False)
    assert _loop(_never, state, steps=False)[2:] == _rest(full, "1 ends")


def test_an_evaluation_that_has_ended_is_whole_in_the_next_epoch():
    """Its steps are a part of the position only while its scope is open."""
    state = _stopped(_loop, "2.1")
    assert [line[:3] for line in _loop(_never, state) if line[1] == "eval"] == [(2, "eval", 0), (2, "eval", 1)]


def test_set_up_code_after_init_draws_as_in_the_first_run():
    """A split drawn from the global generator must not move, or validation data leak into training."""
    splits = []
    state = _stopped(_loop, "1 ends")
    for resume in (None, state):
        rs.init(None if resume else 11, resume=resume)
        splits.append(torch.utils.data.random_split(range(100), [0.8, 0.2])[1].indices)
    assert splits[0] == splits[1]


def test_a_state_without_scopes_comes_back_at_load_state_dict():
    rs.init(master_seed=3)
    _draws()
    state = rs.state_dict()
    following = _draws()
    rs.init(master_seed=3)
    rs.load_state_dict(state)
    assert _draws() == following


def test_saving_before_the_position_was_reached_warns():
    rs.init(resume=_stopped(_loop, "1.1"))
    with pytest.warns(rs.ResumeWarning, match="has not been entered since: its generators' states are not in place"):
        rs.state_dict()


@pytest.mark.parametrize(("resume", "begins"), [("next", 2), ("same", 1)])
def test_same_resumes_at_the_step_itself(resume, begins):
    rs.init(master_seed=1)
    with rs.seeded(task="train", epoch=0):
        for step, _ in rs.steps(4):
            if step == 1:
                state = rs.state_dict(resume)
                drawn = _draws()
            elif step == 2:
                next_drawn = _draws()
    rs.init(resume=state)
    with rs.seeded(task="train", epoch=0):
        step, _ = next(iter(rs.steps(4)))
        assert step == begins
        assert _draws() == {1: drawn, 2: next_drawn}[begins]


@pytest.mark.parametrize(("resume", "left"), [("next", [2]), ("same", [1, 2])])
def test_same_resumes_at_the_epoch_that_has_just_ended(resume, left):
    def script(state=None):
        rs.init(None if state else 1, resume=state)
        ran = []
        for epoch in rs.epochs(3):
            with rs.seeded(task="train", epoch=epoch):
                ran += [(epoch, step) for step, _ in rs.steps(2)]
            if epoch == 1 and state is None:
                return rs.state_dict(resume)
        return ran

    assert script(script()) == [(epoch, step) for epoch in left for step in range(2)]


def test_a_loaded_position_of_epochs_is_used_up_once():
    state = _stopped(_loop, "1 ends")
    rs.init(resume=state)
    assert [list(rs.epochs(3)) for _ in range(2)] == [[2], [0, 1, 2]]


def test_a_run_can_be_made_longer():
    rs.init(master_seed=1)
    assert list(rs.epochs(3)) == [0, 1, 2]
    with rs.seeded(task="train", epoch=2):
        pass
    state = rs.state_dict()
    rs.init(resume=state)
    assert list(rs.epochs(5)) == [3, 4]


def _folds(save, state=None):
    rs.init(None if state else 4, resume=state)
    log: Log = []
    for fold in range(3):
        for epoch in rs.epochs(2, fold=fold):
            with rs.seeded(task="train", epoch=epoch, fold=fold):
                for step, _ in rs.steps(2):
                    log.append((fold, epoch, step, _draws()))
                    save(f"{fold}{epoch}{step}")
    return log


def test_folds_with_a_coordinate_resume_in_the_fold():
    full = _folds(_never)
    for index, (fold, epoch, step, _) in enumerate(full):
        assert _folds(_never, _stopped(_folds, f"{fold}{epoch}{step}")) == full[index + 1 :]


def _nested(save, state=None):
    rs.init(None if state else 4, resume=state)
    log: Log = []
    for epoch in rs.epochs(2):
        with rs.seeded(task="train", epoch=epoch):
            for step, _ in rs.steps(2):
                for micro, _ in rs.steps(3, name="micro"):
                    log.append((epoch, step, micro, _draws()))
                    save(f"{epoch}{step}{micro}")
                log.append((epoch, step, "update", _draws()))
                save(f"{epoch}{step} update")
    return log


def test_inner_steps_resume_in_the_inner_loop():
    full = _nested(_never)
    for index, line in enumerate(full):
        place = f"{line[0]}{line[1]}{line[2]}" if line[2] != "update" else f"{line[0]}{line[1]} update"
        assert _nested(_never, _stopped(_nested, place)) == full[index + 1 :], place


class Counted:
    """A loader with a state of its own, which begins a new pass when it is loaded at its end."""

    def __init__(self) -> None:
        self.position = 0
        self.fetched: list[int] = []

    def __iter__(self):
        while self.position < 4:
            self.position += 1
            self.fetched.append(self.position - 1)
            yield self.position - 1
        self.position = 0

    def state_dict(self):
        return {"position": self.position, "extra": (torch.tensor([0.5, 1.5]), {1: None}, np.arange(3))}

    def load_state_dict(self, state):
        assert state["extra"][0].tolist() == [0.5, 1.5]
        assert state["extra"][1] == {1: None}
        assert state["extra"][2].tolist() == [0, 1, 2]
        self.position = state["position"]


@pytest.mark.parametrize("resume", ["next", "same"])
@pytest.mark.parametrize("through", ["direct", "json"])
def test_a_loader_with_a_state_of_its_own_resumes_by_it(resume, through):
    def script(stop, state=None):
        rs.init(None if state else 4, resume=state)
        loader, log = Counted(), []
        with rs.seeded(task="train", epoch=0):
            for step, item in rs.steps(loader):
                log.append((step, item, _draws()))
                if step == stop:
                    return rs.state_dict(resume)
            log.append(_draws())
            if stop == "after":
                return rs.state_dict(resume)
        return log, loader.fetched

    full, _ = script(None)
    for stop in (0, 1, 2, 3, "after"):
        state = script(stop)
        log, fetched = script(
            None, state if through == "direct" else rs.Seeder.from_json(rs.Seeder(0).to_json()) | state
        )
        if stop == "after":
            assert log == full[-1:]
        else:
            assert log == full[stop + (resume == "next") :]
            assert resume == "same" or fetched == list(range(stop + 1, 4))


# --- generators of the user's own -----------------------------------------------------------------------------------


class WithState:
    """Python's methods, on a generator that nothing else knows."""

    def __init__(self) -> None:
        self.own = random.Random(0)

    def seed(self, seed: int) -> None:
        self.own.seed(seed)

    def getstate(self):
        return self.own.getstate()

    def setstate(self, state) -> None:
        self.own.setstate(state)

    def draw(self) -> float:
        return self.own.gauss(0, 1)


class WithArrays(WithState):
    """NumPy's methods."""

    getstate = setstate = None  # type: ignore[assignment]

    def __init__(self) -> None:
        self.own = np.random.RandomState(0)  # type: ignore[assignment]

    def get_state(self):
        return self.own.get_state()

    def set_state(self, state) -> None:
        self.own.set_state(state)

    def draw(self) -> float:
        return float(self.own.randn())


class WithTensors:
    """torch's methods."""

    def __init__(self) -> None:
        self.own = torch.Generator()

    def manual_seed(self, seed: int) -> None:
        self.own.manual_seed(seed)

    def state_dict(self):
        return {"state": self.own.get_state(), 0: ("a", 0.1)}

    def load_state_dict(self, state) -> None:
        assert state[0] == ("a", 0.1)
        self.own.set_state(state["state"])

    def draw(self) -> float:
        return float(torch.randn((), generator=self.own))


KINDS: dict[str, tuple[Callable[[], Any], Callable[[Any], float]]] = {
    "torch": (torch.Generator, lambda g: float(torch.randn((), generator=g))),
    "PCG64": (np.random.default_rng, lambda g: float(g.normal())),
    "MT19937": (lambda: np.random.Generator(np.random.MT19937()), lambda g: float(g.normal())),
    "Philox": (lambda: np.random.Generator(np.random.Philox()), lambda g: float(g.normal())),
    "SFC64": (lambda: np.random.Generator(np.random.SFC64()), lambda g: float(g.normal())),
    "RandomState": (np.random.RandomState, lambda g: float(g.randn())),
    "Random": (random.Random, lambda g: g.gauss(0, 1)),
    "getstate": (WithState, WithState.draw),
    "get_state": (WithArrays, WithArrays.draw),
    "state_dict": (WithTensors, WithTensors.draw),
}


@pytest.mark.parametrize("through", ["direct", "torch", "json"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_registered_generator_of_any_kind_goes_on(kind, through, tmp_path):
    """Between epochs of scopes that restore, where only its saved state can tell where it stands."""
    make, draw = KINDS[kind]

    def script(state=None):
        seeder = rs.init(None if state else 4, resume=state)
        generator = make()
        rs.register_generator(generator, name="own")
        log = [draw(generator)]
        for epoch in rs.epochs(3):
            log.append(draw(generator))
            with rs.seeded(task="train", epoch=epoch, restore=True):
                log.append(draw(generator))
            log.append(draw(generator))
            if epoch == 1 and state is None:
                saved.append(seeder.to_json() if through == "json" else rs.state_dict())
        return log

    saved: list[Any] = []
    full = script()
    state = saved[0]
    if through == "torch":
        torch.save(state, tmp_path / "state.pt")
        state = torch.load(tmp_path / "state.pt")
    assert script(state) == [full[0], *full[-3:]]


def test_a_state_that_a_checkpoint_cannot_take_is_named_when_it_is_saved():
    class Odd(WithState):
        def getstate(self):
            return {1, 2}

    rs.init(master_seed=1)
    odd = Odd()
    rs.register_generator(odd, name="odd")
    with pytest.raises(rs.StateError, match="the state of 'odd' cannot be saved: it holds a set; a checkpoint takes"):
        rs.state_dict()


def _with_generator(names: tuple[str, ...], state=None, strict=True):
    rs.init(master_seed=4)
    kept = [random.Random() for _ in names]
    for name, generator in zip(names, kept, strict=True):
        rs.register_generator(generator, name=name)
    if state is not None:
        rs.load_state_dict(state, strict)
    return kept


@pytest.mark.parametrize(
    ("saved", "present", "message"),
    [
        (("a",), (), "Checkpoint holds the state of a, which this run does not have: register the generators under"),
        (("a", "b"), ("b",), "Checkpoint holds the state of a, which this run does not have"),
        ((), ("a",), "Checkpoint has no state for a: unregister them, or pass strict=False"),
    ],
    ids=["unknown", "one of two", "missing"],
)
def test_a_generator_on_one_side_only_is_an_error_that_changes_nothing(saved, present, message):
    earlier = _with_generator(saved)
    state = rs.state_dict()
    kept = _with_generator(present)
    _draws()
    before = rs.snapshot()
    with pytest.raises(rs.StateMismatchError, match=message):
        rs.load_state_dict(state)
    assert rs.snapshot() == before
    with pytest.warns(rs.ResumeWarning, match=f"{message}.*Going on with derived streams"):
        rs.load_state_dict(state, strict=False)
    assert rs.snapshot() != before
    del earlier, kept


@pytest.mark.parametrize("enter", ["loop", "scope", "reseed"])
def test_after_init_a_generator_may_be_registered_until_the_position_is_reached(enter):
    earlier = _with_generator(("a",))
    with rs.seeded(task="train", epoch=0):
        list(rs.steps(1))
    list(rs.epochs(1))
    state = rs.state_dict()
    del earlier
    rs.init(resume=state)
    before = rs.snapshot()
    with pytest.raises(rs.StateMismatchError, match=r"the state of a, .*before the first scope"):
        _reach(enter)
    assert rs.snapshot() == before
    generator = random.Random()
    rs.register_generator(generator, name="a")
    _reach(enter)


def _reach(enter: str) -> None:
    if enter == "loop":
        list(rs.epochs(2))
    elif enter == "scope":
        with rs.seeded(task="train", epoch=1):
            pass
    else:
        rs.reseed("train", 1)


# --- what does not fit ----------------------------------------------------------------------------------------------


def _place() -> tuple[Any, ...]:
    from reproseed import run

    seeder = run._current
    assert seeder is not None
    return seeder.master_seed, seeder.drawn, dict(seeder.task_seeds), seeder.progress.loaded, seeder.pending


REFUSED = {
    "master seed": (
        {"master_seed": 42},
        "Checkpoint has master seed 42, this run 7: leave the seed out, pass 42, or start a new run.",
    ),
    "task seeds": (
        {"task_seeds": {"str:init": 3}},
        r"Checkpoint has task seeds {'init': 3}, this run {}: pass the saved",
    ),
    "derivation": ({"derivation": 2}, r"Checkpoint has derivation 2, this run 1: pass init\(derivation=2\)."),
}


@pytest.mark.parametrize(("parts", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_another_run_is_refused_with_both_values_and_nothing_changes(parts, message):
    rs.init(master_seed=7)
    _draws()
    state = _edited(rs.state_dict(), **parts)
    _draws()
    before, place = rs.snapshot(), _place()
    with pytest.raises(rs.StateMismatchError, match=message):
        rs.load_state_dict(state)
    assert rs.snapshot() == before
    assert _place() == place
    with pytest.warns(rs.ResumeWarning, match=message + ".*Going on with derived streams"):
        rs.load_state_dict(state, strict=False)
    assert rs.snapshot() == before  # derived: no generator goes on from the foreign states
    assert _place()[:3] == place[:3]


@pytest.mark.parametrize("name", ["python", "numpy", "torch.cpu"])
@pytest.mark.parametrize("cut", ["words", "missing field"])
def test_a_state_that_its_library_refuses_is_named_and_nothing_changes(name, cut):
    rs.init(master_seed=7)
    parts = unseal(rs.state_dict())
    plain = parts["snapshot"][name]
    key = next(key for key, value in plain.items() if isinstance(value, bytes))
    parts["snapshot"][name] = {**plain, key: plain[key][:-4]} if cut == "words" else {}
    _draws()
    before, place = rs.snapshot(), _place()
    with pytest.raises(rs.StateError, match=f"the checkpoint's state of '{name}' cannot be used: its field"):
        rs.load_state_dict(seal(parts))
    assert rs.snapshot() == before
    assert _place() == place


def test_a_generator_that_raises_half_way_leaves_all_as_it_was():
    class Broken(WithState):
        def setstate(self, state) -> None:
            if broken:
                raise OSError("disk")
            super().setstate(state)

    broken: list[int] = []
    rs.init(master_seed=7)
    own = Broken()
    rs.register_generator(own, name="own")
    state = rs.state_dict()
    _draws()
    before, place = rs.snapshot(), _place()
    broken.append(1)
    with pytest.raises(OSError, match="disk"):
        rs.load_state_dict(state)
    broken.clear()
    assert rs.snapshot() == before
    assert _place() == place


def test_a_drawn_seed_gives_way():
    rs.init(master_seed=42)
    state = rs.state_dict()
    first = _draws()
    rs.init()
    assert rs.get_master_seed() != 42
    rs.load_state_dict(state)
    assert rs.get_master_seed() == 42
    assert _draws() == first


@pytest.mark.parametrize(
    ("derive", "named"),
    [
        (lambda: rs.stream("split").seed(), "'split'"),
        (lambda: _enter(task="train"), r"\(task='train'\)"),
        (lambda: rs.reseed(0), r"\(epoch=0, task=0\)"),
    ],
    ids=["stream", "scope", "reseed"],
)
def test_a_drawn_seed_from_which_was_derived_says_what(derive, named):
    rs.init(master_seed=42)
    state = rs.state_dict()
    drawn = rs.init().get_master_seed()
    derive()
    before = rs.snapshot()
    message = (
        rf"The run's seed {drawn} was drawn and replaced by the saved 42, but {named} was already derived from "
        rf"{drawn}\. "
        r'Load first: init\(resume=state\["rng"\]\)'
    )
    with pytest.raises(rs.StateMismatchError, match=message):
        rs.load_state_dict(state)
    assert rs.get_master_seed() == drawn
    assert rs.snapshot() == before


def _enter(**coordinates: Any) -> None:
    with rs.seeded(**coordinates):
        pass


@pytest.mark.parametrize("load", ["init", "load_state_dict"])
def test_a_loaded_seed_gives_way_no_more_and_is_still_known_as_drawn(load):
    state = rs.init().state_dict()
    if load == "init":
        seeder = rs.init(resume=state)
    else:
        seeder = rs.init()
        rs.load_state_dict(state)
    assert seeder.drawn
    saved = rs.get_master_seed()
    with pytest.raises(rs.StateMismatchError, match=f"Checkpoint has master seed 42, this run {saved}"):
        rs.load_state_dict(rs.Seeder(42).state_dict())


def test_what_was_derived_from_another_seed_does_not_bind_a_drawn_one():
    rs.init(master_seed=42)
    state = rs.state_dict()
    rs.init(task_seeds=None)
    _enter(master_seed=5, task="split")
    rs.load_state_dict(state)
    assert rs.get_master_seed() == 42


@pytest.mark.parametrize("drawn", [True, False], ids=["drawn", "chosen"])
def test_task_seeds_that_differ_are_refused_whether_or_not_the_seed_was_drawn(drawn, monkeypatch):
    monkeypatch.delenv("REPROSEED_MASTER_SEED", raising=False)
    rs.init(None if drawn else 3, task_seeds={"init": 7})
    state = rs.state_dict()
    with pytest.raises(rs.StateMismatchError, match=r"task seeds {'init': 7}, this run {'init': 8}"):
        rs.init(resume=state, task_seeds={"init": 8})


def test_task_seeds_are_saved_and_taken_over():
    rs.init(master_seed=3, task_seeds={"init": 7, 1: 8, "1": 9})
    with rs.seeded(task="init"):
        first = _draws()
    state = rs.state_dict()
    seeder = rs.init(resume=state)
    assert seeder.task_seeds == {"init": 7, 1: 8, "1": 9}
    with rs.seeded(task="init"):
        assert _draws() == first


@pytest.mark.parametrize(
    ("place", "says"),
    [({"rank": 2, "world_size": 4}, "rank 2 of 4"), ({"rank": 1, "world_size": 8}, "rank 1 of 8")],
    ids=["rank", "world"],
)
def test_another_rank_or_world_is_logged_and_derived(place, says, caplog):
    def epoch(number):
        with rs.seeded(task="train", epoch=number):
            return _draws()

    rs.init(master_seed=1, rank=1, world_size=4)
    epoch(0)
    state = rs.state_dict()
    rs.init(master_seed=1, **place)
    expected = epoch(1)
    with caplog.at_level(logging.WARNING, logger="reproseed"):
        rs.init(resume=state, **place)
    assert f"the checkpoint is of rank 1 of 4, this is {says}: streams are derived" in caplog.text
    assert epoch(1) == expected


def test_all_ranks_may_load_the_state_that_rank_0_saved():
    """Each is on its own streams afterwards, none on rank 0's."""
    rs.init(master_seed=1, rank=0, world_size=3)
    for epoch in rs.epochs(1):
        _enter(task="train", epoch=epoch)
    state = rs.state_dict()
    drawn = set()
    for rank in range(3):
        rs.init(resume=state, rank=rank, world_size=3)
        assert list(rs.epochs(2)) == [1]
        with rs.seeded(task="train", epoch=1):
            drawn.add(_draws())
    assert len(drawn) == 3


@pytest.mark.parametrize("present", [None, "same", "another"])
def test_a_state_saved_inside_a_scope_goes_on_there_and_nowhere_else(present):
    rs.init(master_seed=1)
    with rs.seeded(task="train", epoch=0):
        _draws()
        with pytest.warns(rs.ResumeWarning, match="The step inside"):
            state = rs.state_dict()
        following = _draws()
    rs.init(master_seed=1)
    if present is None:
        rs.load_state_dict(state)
        base = _draws()
        rs.init(master_seed=1)
        assert _draws() == base
        return
    with rs.seeded(task="train" if present == "same" else "other", epoch=0):
        first = rs.snapshot()
        rs.load_state_dict(state)
        assert (_draws() == following) is (present == "same")
        if present == "another":
            first.restore()


# --- warnings -------------------------------------------------------------------------------------------------------


def test_saving_inside_an_epoch_without_steps_warns():
    rs.init(master_seed=1)
    message = (
        r"The step inside \(epoch=3, task='train'\) is unknown: this checkpoint resumes at the start of epoch 3. "
        r"Iterate with rs.steps\(loader\)."
    )
    with rs.seeded(task="train", epoch=3), pytest.warns(rs.ResumeWarning, match=message):
        rs.state_dict()


def test_saving_after_reseed_in_a_loop_over_epochs_warns():
    rs.init(master_seed=1)
    for epoch in rs.epochs(2):
        rs.reseed(1, epoch)
        with pytest.warns(rs.ResumeWarning, match=r"reseed\(\) does not say when \(epoch=\d, task=1\) ends"):
            rs.state_dict()


def test_entering_an_earlier_epoch_than_the_loaded_one_warns():
    rs.init(master_seed=1)
    with rs.seeded(task="train", epoch=3):
        for step, _ in rs.steps(1000):
            if step == 499:
                state = rs.state_dict()
                break
    rs.init(resume=state)
    message = (
        r"Loaded position is epoch 3, step 500, but epoch 0 was entered: it will be trained again. "
        r"Use rs.epochs\(n\) or range\(3, n\)."
    )
    with pytest.warns(rs.ResumeWarning, match=message):
        _enter(task="train", epoch=0)


@pytest.mark.parametrize("evaluated", [(0, 2, 4), (0, 5)])
def test_an_evaluation_that_is_not_done_in_every_epoch_warns_of_nothing(evaluated):
    def script(state=None):
        rs.init(None if state else 1, resume=state)
        for epoch in rs.epochs(6):
            with rs.seeded(task="train", epoch=epoch):
                list(rs.steps(1))
            if epoch in evaluated:
                with rs.seeded(task="eval", epoch=epoch, restore=True):
                    list(rs.steps(1))
            if state is None and epoch == 1:
                return rs.state_dict()
        return None

    script(script())


@pytest.mark.parametrize("names", [(), ("step",)], ids=["epoch", "step"])
def test_a_scope_inside_a_step_that_has_closed_ends_no_epoch(names):
    """What is drawn once for all ranks has a task of its own; the epoch around it goes on at the next step."""

    def train(saved):
        rs.init(1, resume=saved)
        done, states = [], []
        for epoch in rs.epochs(2):
            with rs.seeded(task="train", epoch=epoch):
                for at, _ in rs.steps(3):
                    with rs.seeded(task="mask", epoch=epoch, **dict.fromkeys(names, at), shared=True):
                        mask = random.random()
                    done.append((epoch, at, mask, random.random()))
                    states.append(rs.state_dict())
        return done, states

    whole, states = train(None)
    for index, saved in enumerate(states):
        assert train(saved)[0] == whole[index + 1 :]
