"""Decorators on every kind of callable: result, signature, kind and pickling kept, and the scope in force."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import gc
import importlib.util
import inspect
import multiprocessing
import pickle
import random
import subprocess
import sys
import textwrap
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

import reproseed as rs
from reproseed import stack

# A spawned child imports the samples by name; under pytest's importlib mode the tests' folder is not on the path.
_spec = importlib.util.spec_from_file_location("scoping_samples", Path(__file__).parent / "scoping_samples.py")
samples = sys.modules.setdefault("scoping_samples", importlib.util.module_from_spec(_spec))
if not hasattr(samples, "Sample"):
    _spec.loader.exec_module(samples)


@pytest.fixture
def run():
    return rs.init(master_seed=13)


def expected() -> float:
    """The first draw of the samples' scope."""
    with rs.seeded(master_seed=5, task="sample", restore=True):
        return random.random()


def result_of(made: object) -> object:
    """The result of a call, run to its end whatever it is."""
    if inspect.isgenerator(made):
        return next(made)
    if inspect.iscoroutine(made):
        return asyncio.run(made)
    if inspect.isasyncgen(made):

        async def first():
            return await anext(aiter(made))

        return asyncio.run(first())
    return made


SAMPLE, CHILD = samples.Sample(), samples.Child()
KINDS = {
    "function": samples.function,
    "renamed": samples.decorated,
    "lambda": samples.lambda_,
    "partial": samples.partial,
    "callable object": samples.callable_object,
    "generator": samples.generator,
    "coroutine": samples.coroutine,
    "async generator": samples.async_generator,
    "returns a generator": samples.returns_generator,
    "returns a coroutine": samples.returns_coroutine,
    "returns an async generator": samples.returns_async_generator,
    "method": SAMPLE.method,
    "method of the class": functools.partial(samples.Sample.method, SAMPLE),
    "overridden method": CHILD.method,
    "classmethod above": samples.Sample.class_above,
    "classmethod above, of an instance": SAMPLE.class_above,
    "classmethod below": samples.Sample.class_below,
    "classmethod below, of an instance": SAMPLE.class_below,
    "inherited classmethod": samples.Child.class_below,
    "staticmethod above": samples.Sample.static_above,
    "staticmethod below": samples.Sample.static_below,
    "staticmethod below, of an instance": SAMPLE.static_below,
    "generator method": SAMPLE.generator_method,
    "coroutine method": SAMPLE.coroutine_method,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_runs_in_the_scope_keeps_its_result_and_gives_everything_back(kind):
    function = KINDS[kind]
    random.random(), np.random.normal()
    before = rs.snapshot()
    value = expected()
    assert result_of(function()) == (1, 2, value)
    if kind != "partial":
        assert result_of(function(7, b=8)) == (7, 8, value)
    gc.collect()
    assert rs.snapshot() == before
    assert stack.innermost() is None


def test_a_builtin_is_decorated_too():
    assert samples.builtin() == expected()


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_arguments_raise_a_type_error_at_the_call_and_change_nothing(kind):
    before = rs.snapshot()
    with pytest.raises(TypeError):
        result_of(KINDS[kind](nonsense=1))
    assert rs.snapshot() == before
    assert stack.innermost() is None


def _module_level(name):
    return getattr(samples, name), getattr(samples, name).__wrapped__


PAIRS = {
    **{name: _module_level(name) for name in ("function", "generator", "coroutine", "async_generator", "lambda_")},
    "method": (samples.Sample.__dict__["method"], samples.Sample.__dict__["method"].__wrapped__),
}
QUESTIONS = (
    "isfunction", "ismethod", "isroutine", "isgeneratorfunction", "iscoroutinefunction", "isasyncgenfunction",
    "isclass", "isbuiltin",
)  # fmt: skip


@pytest.mark.parametrize("kind", PAIRS)
def test_signature_names_and_kind_are_the_functions_own(kind):
    decorated, plain = PAIRS[kind]
    assert inspect.signature(decorated) == inspect.signature(plain)
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__defaults__", "__kwdefaults__"):
        assert getattr(decorated, name) == getattr(plain, name), name
    for question in QUESTIONS:
        assert getattr(inspect, question)(decorated) == getattr(inspect, question)(plain), question
    assert asyncio.iscoroutinefunction(decorated) == asyncio.iscoroutinefunction(plain)
    assert callable(decorated)


def test_bound_methods_answer_as_bound_methods_do():
    assert inspect.ismethod(SAMPLE.method)
    assert str(inspect.signature(SAMPLE.method)) == "(a=1, *, b=2)"
    assert str(inspect.signature(samples.Sample.method)) == "(self, a=1, *, b=2)"
    assert str(inspect.signature(samples.Sample.class_below)) == "(a=1, *, b=2)"
    assert str(inspect.signature(samples.Sample.static_below)) == "(a=1, *, b=2)"
    assert SAMPLE.method.__self__ is SAMPLE
    assert inspect.iscoroutinefunction(SAMPLE.coroutine_method)
    assert inspect.isgeneratorfunction(SAMPLE.generator_method)


def test_results_answer_as_their_kind_does():
    one = samples.generator()
    two = samples.coroutine()
    three = samples.async_generator()
    assert (inspect.isgenerator(one), inspect.iscoroutine(two), inspect.isasyncgen(three)) == (True, True, True)
    assert (one.__name__, two.__name__, three.__name__) == ("generator", "coroutine", "async_generator")
    one.close(), two.close()
    asyncio.run(three.aclose())


# --- refusals -------------------------------------------------------------------------------------------------


def _property():
    return property(lambda self: 1)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: samples.Callable,
            "seeded(...) cannot decorate the class Callable: which of its methods would it mean? "
            "Decorate the methods, such as __init__.",
        ),
        (
            _property,
            "seeded(...) cannot decorate a property: decorate the function below it, with @property above "
            "@seeded(...).",
        ),
        (
            lambda: functools.cached_property(lambda self: 1),
            "seeded(...) cannot decorate a cached_property: decorate the function below it, with @cached_property "
            "above @seeded(...).",
        ),
        (lambda: 3, "seeded(...) decorates callables; 3 is a int."),
        (lambda: None, "seeded(...) decorates callables; None is a NoneType."),
    ],
    ids=["class", "property", "cached_property", "int", "None"],
)
def test_what_cannot_be_decorated_is_refused_with_the_reason(run, make, sentence):
    before = rs.snapshot()
    with pytest.raises(rs.DecorationError) as caught:
        rs.seeded(task="x")(make())
    assert str(caught.value) == sentence
    assert rs.snapshot() == before


def test_a_property_above_the_decorator_works(run):
    class Model:
        @property
        @rs.seeded(task="p")
        def noise(self):
            return random.random()

        @functools.cached_property
        @rs.seeded(task="p")
        def kept(self):
            return random.random()

    model = Model()
    assert model.noise == model.noise == model.kept


def test_a_context_manager_above_runs_entry_and_exit_in_the_scope_and_the_body_outside():
    random.seed(4)
    outside = random.random()
    random.seed(4)
    with samples.context() as (_, _, value):
        assert value == expected()
        assert random.random() == outside


@pytest.mark.parametrize("make", [contextlib.contextmanager, contextlib.asynccontextmanager])
def test_a_context_manager_below_is_refused_naming_the_order(run, make):
    if make is contextlib.contextmanager:

        def body():
            yield
    else:

        async def body():
            yield

    decorated = rs.seeded(task="x", restore=True)(make(body))
    before = rs.snapshot()
    with pytest.raises(rs.DecorationError) as caught:
        decorated()
    assert str(caught.value) == (
        "body returns a context manager made of a generator, whose body would run outside the scope: "
        "write @contextmanager above @seeded(...)."
    )
    assert stack.innermost() is None
    assert rs.snapshot() == before


# --- pickling and copies --------------------------------------------------------------------------------------

PICKLED = {kind: function for kind, function in KINDS.items() if kind not in ("lambda", "method of the class")}


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("kind", PICKLED)
def test_a_pickled_callable_is_the_same_callable(kind, protocol):
    again = pickle.loads(pickle.dumps(PICKLED[kind], protocol))
    assert result_of(again()) == (1, 2, expected())


@pytest.mark.parametrize("name", ["function", "generator", "coroutine"])
def test_a_function_under_its_own_name_pickles_as_that_name(name):
    function = getattr(samples, name)
    assert pickle.loads(pickle.dumps(function)) is function
    assert len(pickle.dumps(function)) < 120


def test_a_method_taken_from_its_class_pickles():
    again = pickle.loads(pickle.dumps(samples.Sample.method))
    assert again(SAMPLE) == (1, 2, expected())


def test_a_lambda_does_not_pickle_just_as_it_does_not_undecorated():
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(samples.lambda_)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy])
def test_a_copy_is_decorated_too(kind, make):
    assert result_of(make(KINDS[kind])()) == (1, 2, expected())


def test_a_deep_copied_bound_method_belongs_to_the_copied_object():
    owner = samples.Sample()
    owner.hook = owner.train_own
    owner.epoch = 4
    other = copy.deepcopy(owner)
    other.epoch = 5
    assert other.hook.__self__ is other
    rs.init(master_seed=1)
    assert (owner.hook()[0], other.hook()[0]) == (4, 5)


@pytest.mark.slow
def test_a_spawned_child_calls_every_kind_with_equal_results(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))  # the child gets the parent's path
    plain = ("function", "renamed", "partial", "callable object", "method", "overridden method", "classmethod below",
             "classmethod above", "staticmethod above", "staticmethod below")  # fmt: skip
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        for kind in plain:
            assert pool.submit(KINDS[kind]).result(60) == (1, 2, expected()), kind


# --- driven functions -----------------------------------------------------------------------------------------


def draws() -> tuple[object, ...]:
    return random.random(), float(np.random.random()), float(torch.rand(()))


def solo(task, n):
    """What a scope of a task draws when nothing comes between."""
    with rs.seeded(task=task, restore=True):
        return [draws() for _ in range(n)]


def test_at_every_suspension_the_callers_streams_are_back_and_the_functions_own_put_aside(run):
    @rs.seeded(task="items")
    def items():
        for _ in range(3):
            yield draws()

    inside, outside = solo("items", 3), solo("caller", 4)
    with rs.seeded(task="caller"):
        seen, mine = [], [draws()]
        for item in items():
            assert rs.current().address["task"] == "caller"
            seen.append(item)
            mine.append(draws())
    assert seen == inside
    assert mine == outside


def test_two_interleaved_generators_do_not_mix_in_whatever_order_they_end(run):
    @rs.seeded(task=rs.arg("task"))
    def items(task):
        for _ in range(3):
            yield draws()

    before = rs.snapshot()
    a, b = items("a"), items("b")
    pairs = [(next(a), next(b)) for _ in range(2)]
    a.close()
    assert next(b) == solo("b", 3)[2]
    b.close()
    assert [p[0] for p in pairs] == solo("a", 2)
    assert rs.snapshot() == before


def test_nothing_runs_and_nothing_is_entered_before_the_first_item(run):
    log = []

    @rs.seeded(task="items")
    def items():
        log.append(1)
        yield

    before = rs.snapshot()
    made = items()
    assert not log
    made.close()
    del made
    gc.collect()
    assert rs.snapshot() == before


def test_send_throw_return_and_yield_from_are_those_of_the_function(run):
    log = []

    @rs.seeded(task="items")
    def items():
        try:
            got = yield "first"
            log.append((got, rs.current().address["task"]))
            yield "second"
        except KeyError as error:
            log.append((error.args[0], rs.current().address["task"]))
            yield "caught"
        return "result"

    made = items()
    assert next(made) == "first"
    assert made.send("sent") == "second"
    assert made.throw(KeyError("thrown")) == "caught"
    with pytest.raises(StopIteration) as caught:
        next(made)
    assert caught.value.value == "result"
    assert log == [("sent", "items"), ("thrown", "items")]

    def outer():
        return (yield from items())

    assert list(outer()) == ["first", "second"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("when", ["start", "later"])
def test_an_exception_in_the_function_gives_the_callers_streams_back(run, error, when):
    raised = error("body")

    @rs.seeded(task="items")
    def items():
        draws()
        if when == "start":
            raise raised
        yield 1
        draws()
        raise raised

    draws()
    before = rs.snapshot()
    with pytest.raises(error) as caught:
        list(items())
    assert caught.value is raised
    assert rs.snapshot() == before
    assert stack.innermost() is None


def test_close_runs_the_functions_finally_on_its_own_streams(run):
    seen = []

    @rs.seeded(task="items")
    def items():
        try:
            yield draws()
        finally:
            seen.append(draws())

    before = rs.snapshot()
    made = items()
    next(made)
    draws()
    before = rs.snapshot()
    made.close()
    assert seen == solo("items", 2)[1:]
    assert rs.snapshot() == before


def test_a_function_that_ignores_close_raises_as_it_does_undecorated(run):
    @rs.seeded(task="items")
    def items():
        with contextlib.suppress(GeneratorExit):
            yield
        yield

    made = items()
    next(made)
    before = rs.snapshot()
    with pytest.raises(RuntimeError, match="ignored GeneratorExit"):
        made.close()
    assert rs.snapshot() == before
    assert stack.innermost() is None


def test_close_from_another_thread_swaps_nothing(run):
    seen = []

    @rs.seeded(task="items")
    def items():
        with rs.seeded(task="nested"):
            try:
                yield
            finally:
                seen.append(stack.innermost())

    made = items()
    next(made)
    draws()
    before, base = rs.snapshot(), run.base
    thread = threading.Thread(target=made.close)
    thread.start()
    thread.join(30)
    assert rs.snapshot() == before
    assert run.base == base
    assert seen == [None]
    with rs.seeded(task="main"):
        assert stack.innermost().parent is None


def test_scopes_open_across_yields_are_put_aside_and_come_back(run):
    @rs.seeded(task="items")
    def items():
        with rs.seeded(task="nested"):
            yield draws(), str(rs.current().address)
            yield draws(), str(rs.current().address)
        yield draws(), str(rs.current().address)

    before = rs.snapshot()
    seen = []
    for item in items():
        assert rs.snapshot() == before
        assert stack.innermost() is None
        seen.append(item)
    assert seen == [
        *((d, "(task='nested')") for d in solo("nested", 2)),
        (solo("items", 1)[0], "(task='items')"),
    ]


def test_a_driven_generator_inside_a_driven_generator(run):
    @rs.seeded(task="inner")
    def inner():
        yield draws()
        yield draws()

    @rs.seeded(task="outer")
    def outer():
        for item in inner():
            yield item, draws()

    assert list(outer()) == list(zip(solo("inner", 2), solo("outer", 2), strict=True))


def test_a_resumption_that_is_refused_closes_the_function_and_changes_nothing(run):
    closed = []

    @rs.seeded(task="items")
    def items():
        try:
            yield 1
            yield 2
        finally:
            closed.append(True)

    made = items()
    next(made)
    with rs.seeded(task="main"):
        before = rs.snapshot()
        errors = []

        def attempt():
            try:
                next(made)
            except rs.ConcurrentScopeError as error:
                errors.append(error)

        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join(30)
        assert len(errors) == 1
        assert closed == [True]
        assert rs.snapshot() == before
    with pytest.raises(StopIteration):
        next(made)


def test_steps_inside_a_driven_generator_and_a_checkpoint_saved_while_it_is_suspended(run):
    log = []

    @rs.seeded(task="train", epoch=rs.arg("epoch"))
    def train(epoch):
        for step, _ in rs.steps(4):
            log.append((step, draws()))
            yield step

    whole = list(train(0))
    full, log[:] = list(log), []
    made = train(0)
    assert [next(made), next(made)] == whole[:2]
    draws()
    state = rs.state_dict()
    made.close()
    log.clear()
    rs.init(master_seed=13, resume=state)
    assert list(train(0)) == [2, 3]
    assert log == full[2:]


def test_a_function_never_started_leaves_no_open_position(run):
    @rs.seeded(task="train", epoch=0)
    def returns():
        def items():
            yield

        return items()

    made = returns()
    del made
    gc.collect()
    rs.state_dict()  # would warn of an open epoch


@pytest.mark.parametrize("check", ["error", "warn"])
def test_a_check_of_preserved_holds_for_driven_functions(check):
    @rs.preserved(check=check)
    def items(draw):
        yield 1
        if draw:
            random.random()
        yield 2

    before = rs.snapshot()
    assert list(items(False)) == [1, 2]
    expect = (
        pytest.raises(rs.UnexpectedDrawError, match=r"^python moved")
        if check == "error"
        else pytest.warns(rs.ReproseedWarning, match=r"^python moved")
    )
    with expect:
        list(items(True))
    assert rs.snapshot() == before

    @rs.preserved(check=check)
    async def work():
        random.random()

    with (
        pytest.raises(rs.UnexpectedDrawError) if check == "error" else pytest.warns(rs.ReproseedWarning, match="moved")
    ):
        asyncio.run(work())
    assert rs.snapshot() == before


def test_preserved_draws_of_a_generator_go_on_where_they_stood_and_leave_no_trace():
    @rs.preserved()
    def items():
        yield random.random()
        yield random.random()

    before = rs.snapshot()
    expected = [random.random(), random.random()]
    before.restore()
    assert list(items()) == expected
    assert rs.snapshot() == before


# --- coroutines and async generators --------------------------------------------------------------------------


def test_a_coroutine_gives_the_callers_streams_back_at_every_await(run):
    seen = []

    @rs.seeded(task="work")
    async def work():
        first = draws()
        await asyncio.sleep(0)
        second = draws()
        await asyncio.sleep(0)
        return first, second

    async def main():
        task = asyncio.create_task(work())
        before = rs.snapshot()
        while not task.done():
            await asyncio.sleep(0)
            assert rs.snapshot() == before
            assert stack.innermost() is None
            seen.append(1)
        return await task

    assert list(asyncio.run(main())) == solo("work", 2)
    assert len(seen) > 1


@pytest.mark.parametrize("form", ["before start", "while waiting"])
def test_cancelling_gives_the_streams_back_and_leaves_nothing_never_awaited(run, form):
    log = []

    @rs.seeded(task="work")
    async def work():
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            log.append(rs.current().address["task"])
            raise

    async def main():
        task = asyncio.create_task(work())
        if form == "while waiting":
            await asyncio.sleep(0.01)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    before = rs.snapshot()
    asyncio.run(main())
    gc.collect()
    assert rs.snapshot() == before
    assert log == (["work"] if form == "while waiting" else [])


def test_a_coroutine_that_may_not_start_leaves_nothing_never_awaited():
    @rs.seeded(task="work")
    async def work():
        pass

    with pytest.raises(rs.NotInitializedError):
        asyncio.run(work())
    gc.collect()


def test_wait_for_with_a_timeout_gives_the_streams_back(run):
    @rs.seeded(task="work")
    async def work():
        draws()
        await asyncio.sleep(10)

    async def main():
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(work(), 0.01)

    before = rs.snapshot()
    asyncio.run(main())
    assert rs.snapshot() == before


def test_an_async_generator_is_driven_at_items_and_awaits(run):
    log = []

    @rs.seeded(task="items")
    async def items():
        try:
            for _ in range(3):
                await asyncio.sleep(0)
                got = yield draws()
                if got is not None:
                    log.append((got, rs.current().address["task"]))
        except KeyError:
            log.append(("thrown", rs.current().address["task"]))
            yield "caught"
        finally:
            log.append(("closed", rs.current().address["task"]))

    async def main():
        before = rs.snapshot()
        made = items()
        seen = [await made.asend(None), await made.asend("sent")]
        assert rs.snapshot() == before
        assert stack.innermost() is None
        assert await made.athrow(KeyError()) == "caught"
        await made.aclose()
        assert rs.snapshot() == before
        second = items()
        await second.__anext__()
        await second.aclose()
        assert rs.snapshot() == before
        return seen, [item async for item in items()]

    seen, whole = asyncio.run(main())
    assert seen == solo("items", 2)
    assert whole == solo("items", 3)
    assert log[:4] == [("sent", "items"), ("thrown", "items"), ("closed", "items"), ("closed", "items")]


def test_an_async_generator_left_by_break_is_closed_by_the_loop(run):
    closed = []

    @rs.seeded(task="items")
    async def items():
        try:
            yield 1
            yield 2
        finally:
            closed.append(True)

    async def main():
        async for _ in items():
            break
        gc.collect()
        await asyncio.sleep(0.01)

    before = rs.snapshot()
    asyncio.run(main())
    assert closed == [True]
    assert rs.snapshot() == before


# --- seeded_epoch and arg -------------------------------------------------------------------------------------


def at(task, **coordinates):
    with rs.seeded(task=task, restore=True, **coordinates):
        return random.random()


def test_the_epoch_is_read_positional_by_keyword_by_default_and_dotted(run):
    @rs.seeded_epoch(task="train")
    def train(loader, epoch=7):
        return random.random()

    assert train(None, 3) == train(None, epoch=3) == at("train", epoch=3)
    assert train(None) == at("train", epoch=7)
    assert SAMPLE.train(2) == (2, at("train", epoch=2))
    assert SAMPLE.train(epoch=2) == (2, at("train", epoch=2))
    assert samples.Sample.train(SAMPLE, 2) == (2, at("train", epoch=2))
    assert SAMPLE.train_own() == (3, at("train", epoch=3))

    @rs.seeded_epoch(task="train", epoch="state.epoch")
    def other(state, *, flag=False):
        return random.random()

    assert other(SAMPLE) == at("train", epoch=3)


def test_bare_and_called_forms_use_the_default_task(run):
    @rs.seeded_epoch
    def bare(epoch):
        return random.random()

    assert bare(4) == at(1, epoch=4)
    rs.init(master_seed=13)

    @rs.seeded_epoch()
    def called(epoch):
        return random.random()

    assert called(4) == at(1, epoch=4)


@pytest.mark.parametrize("kind", ["static below", "static above", "class below", "class above", "generator", "async"])
def test_the_epoch_is_read_for_every_kind(run, kind):
    decorate = rs.seeded_epoch(task="train", fold=rs.arg("fold"))

    class Trainer:
        if kind == "static below":

            @decorate
            @staticmethod
            def train(epoch, fold=1):
                return random.random()

        elif kind == "static above":

            @staticmethod
            @decorate
            def train(epoch, fold=1):
                return random.random()

        elif kind == "class below":

            @decorate
            @classmethod
            def train(cls, epoch, fold=1):
                return random.random()

        elif kind == "class above":

            @classmethod
            @decorate
            def train(cls, epoch, fold=1):
                return random.random()

        elif kind == "generator":

            @decorate
            def train(self, epoch, fold=1):
                yield random.random()

        else:

            @decorate
            async def train(self, epoch, fold=1):
                return random.random()

    for owner in (Trainer(), Trainer) if "above" in kind or "below" in kind else (Trainer(),):
        assert result_of(owner.train(2)) == at("train", epoch=2, fold=1)
        assert result_of(owner.train(epoch=2, fold=5)) == at("train", epoch=2, fold=5)


def test_a_coordinate_of_the_wrong_kind_in_a_call_is_named(run):
    @rs.seeded_epoch(task="train")
    def train(epoch=None):
        pass

    before = rs.snapshot()
    with pytest.raises(rs.CoordinateTypeError, match="coordinate epoch=None has no value"):
        train()
    with pytest.raises(rs.CoordinateTypeError, match=r"coordinate epoch=1.5 is a float"):
        train(1.5)
    assert rs.snapshot() == before


def test_a_function_without_the_parameter_is_refused_naming_those_it_has():
    def train_one_epoch(model, loader, ep):
        pass

    with pytest.raises(rs.DecorationError) as caught:
        rs.seeded_epoch(train_one_epoch)
    assert str(caught.value) == (
        "train_one_epoch has no parameter 'epoch' (it has: model, loader, ep); write seeded_epoch(epoch=\"ep\")."
    )
    with pytest.raises(rs.DecorationError, match=r"it has: none"):
        rs.seeded_epoch(lambda: 1)
    with pytest.raises(rs.DecorationError, match=r'has no parameter \'fold\' .* write fold=rs.arg\("fo"\)'):
        rs.seeded(task="t", fold=rs.arg("fold"))(lambda fo: fo)


@pytest.mark.parametrize("shared", [True, False], ids=["one object", "two objects"])
def test_two_functions_on_the_default_task_warn_once(run, shared):
    scope = rs.seeded_epoch()
    other = scope if shared else rs.seeded_epoch()

    @scope
    def train(epoch):
        return random.random()

    @other
    def validate(epoch):
        return random.random()

    if other is not scope:
        del other
    train(0), train(1)
    with pytest.warns(rs.RepeatedAddressWarning) as caught:
        validate(0)
    assert str(caught[0].message) == (
        "train and validate both use task=1 and draw the same numbers; give validate its own task."
    )
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        validate(1), train(2)


def test_two_functions_on_tasks_of_their_own_do_not_warn(run):
    @rs.seeded_epoch(task=1)
    def train(epoch):
        return random.random()

    @rs.seeded_epoch(task=1)
    def again(epoch):
        return random.random()

    assert train(0) == again(0)


# --- a fresh interpreter --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_decorated_functions_work_as_workers_and_datasets_under_spawn(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import random
            from concurrent.futures import ProcessPoolExecutor
            import multiprocessing
            import reproseed as rs

            @rs.seeded(master_seed=3, task=rs.arg("task"), restore=True)
            def work(task):
                return random.random()

            class Holder:
                @rs.seeded(master_seed=3, task=rs.arg("task"), restore=True)
                def work(self, task):
                    return random.random()

            if __name__ == "__main__":
                with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
                    tasks = list(range(3))
                    here = [work(task) for task in tasks]
                    assert list(pool.map(work, tasks)) == here
                    assert list(pool.map(Holder().work, tasks)) == here
                print("equal")
            """
        )
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path
    )
    assert done.stdout.strip() == "equal", done.stderr
