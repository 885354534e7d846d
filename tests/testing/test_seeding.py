"""`watch_seeding`: who seeds behind the run's back, and where; what it takes away again."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import subprocess
import sys
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import manual_seed  # a name that no wrapper reaches

import reproseed as rs
from reproseed.errors import CoordinateTypeError, StraySeedingError, StraySeedingWarning, UnenteredScopeWarning
from reproseed.testing.seeding import FUNCTIONS

random_seed, numpy_seed = random.seed, np.random.seed  # likewise

CALLS = {
    "random.seed": lambda: random.seed(0),
    "numpy.random.seed": lambda: np.random.seed(0),
    "torch.manual_seed": lambda: torch.manual_seed(0),
    "torch.random.manual_seed": lambda: torch.random.manual_seed(0),
    "torch.seed": lambda: torch.seed(),
    "torch.cuda.manual_seed": lambda: torch.cuda.manual_seed(0),
    "torch.cuda.manual_seed_all": lambda: torch.cuda.manual_seed_all(0),
}
SAME = {"torch.random.manual_seed": "torch.manual_seed"}


def _functions():
    return {
        (module, name): vars(sys.modules[module]).get(name)
        for module, names in FUNCTIONS.items()
        for name in names
        if module in sys.modules
    }


def _library(name: str, code: str) -> types.ModuleType:
    """Make a module of another library, with a file name of its own."""
    module = types.ModuleType(name)
    module.__file__ = f"/libraries/{name}/model.py"
    exec(compile(code, module.__file__, "exec"), module.__dict__)
    return module


@pytest.mark.parametrize("name", CALLS)
def test_a_seed_function_is_reported_with_file_and_line(name):
    shown = rf"called {SAME.get(name, name)}\("
    with rs.testing.watch_seeding("warn") as watch, pytest.warns(StraySeedingWarning, match=shown) as record:
        CALLS[name]()
    (stray,) = watch.found
    line = CALLS[name].__code__.co_firstlineno
    assert (stray.file, stray.line, stray.library) == (__file__, line, __name__.partition(".")[0])
    assert (record[0].filename, record[0].lineno) == (__file__, line)
    # Under pytest-xdist the runner's own lines are named between the two.
    told = rf"at {re.escape(__file__)}:{line}(, called from \S+)?: it seeds behind the run's back"
    assert re.search(told, stray.message)


@pytest.mark.parametrize("name", CALLS)
def test_in_mode_error_nothing_is_seeded(name):
    before = rs.snapshot()
    with (
        rs.testing.watch_seeding("error"),
        pytest.raises(StraySeedingError, match=r"wrap the call in `with rs\.preser"),
    ):
        CALLS[name]()
    assert before.moved() == []


def test_the_functions_still_seed_and_return_what_they_return():
    with rs.testing.watch_seeding("warn"):
        with pytest.warns(StraySeedingWarning):
            assert torch.manual_seed(7) is torch.default_generator
        assert torch.initial_seed() == 7
        with pytest.warns(StraySeedingWarning):
            random.seed(7)
    assert random.random() == random.Random(7).random()


def test_every_function_is_put_back_even_after_an_exception():
    before = _functions()
    with pytest.raises(ZeroDivisionError), rs.testing.watch_seeding():
        _ = 1 / (_functions() == before)
    assert _functions() == before


def test_what_another_patch_put_there_meanwhile_stays():
    mine = lambda seed: None  # noqa: E731 - a stand-in
    original = random.seed
    with rs.testing.watch_seeding():
        random.seed = mine
    try:
        assert random.seed is mine
    finally:
        random.seed = original


def test_a_wrapper_that_is_brought_back_after_the_end_reports_nothing():
    original = random.seed
    with rs.testing.watch_seeding("error") as watch:
        wrapper = random.seed
    random.seed = wrapper  # as a patch does that was laid over it and is undone late
    try:
        random.seed(0)
        assert watch.found == []
    finally:
        random.seed = original


def test_a_library_that_seeds_is_named_with_the_line_that_called_it():
    pomona = _library(
        "pomona", "import numpy as np\ndef fit():\n    return inner()\ndef inner():\n    np.random.seed(0)\n"
    )
    with rs.testing.watch_seeding("warn") as watch, pytest.warns(StraySeedingWarning):
        pomona.fit()
    (stray,) = watch.found
    assert (stray.library, stray.file, stray.line) == ("pomona", "/libraries/pomona/model.py", 5)
    assert stray.message.startswith("pomona called numpy.random.seed(0) at /libraries/pomona/model.py:5, called from ")
    assert f"{__file__}:" in stray.message


def test_what_the_run_seeds_is_not_reported():
    with rs.testing.watch_seeding("error") as watch:
        rs.init(master_seed=1)
        rs.reseed("train", 1)
        with rs.seeded(task="train", epoch=0):
            for _, _ in rs.steps(3):
                random.random(), np.random.rand(1000), torch.rand(3)
            with rs.preserved():
                torch.rand(1)
            with rs.seeded(task="eval", restore=True):
                np.random.rand(2000)
        rs.load_state_dict(rs.state_dict())
    assert watch.found == []


def test_draws_alone_are_not_reported():
    with rs.testing.watch_seeding("error") as watch:
        for n in (1, 623, 624, 3000, 20_000):
            np.random.bytes(4 * n)
            random.getrandbits(32 * n)
            torch.rand(n)
    assert watch.found == []


@pytest.mark.parametrize("draws", [0, 1, 1500])
@pytest.mark.parametrize(
    ("seed", "draw", "sentence"),
    [
        (
            lambda: torch.default_generator.manual_seed(42),
            lambda n: torch.rand(n),
            "torch's generator was seeded with 42",
        ),
        (lambda: numpy_seed(42), lambda n: np.random.bytes(4 * n), "NumPy's global generator was seeded with 42"),
        (
            lambda: random_seed(42),
            lambda n: [random.getrandbits(32) for _ in range(n)],
            "Python's random was seeded with 42",
        ),
    ],
    ids=["default_generator", "numpy", "python"],
)
@pytest.mark.parametrize("where", ["at the end", "at a scope's end"])
def test_a_name_imported_before_is_found_by_the_state(seed, draw, sentence, draws, where):
    watch = rs.testing.watch_seeding()

    @watch
    def work():
        with rs.seeded(master_seed=1, restore=True) if where == "at a scope's end" else contextlib.nullcontext():
            seed()
            draw(draws)

    with pytest.warns(StraySeedingWarning, match=f"{sentence} behind the run's back, or its state replaced"):
        work()
    (stray,) = watch.found
    assert (stray.library, stray.line) == ("unknown", 0)


def test_torchs_function_imported_by_name_is_seen_at_once():
    before = rs.snapshot()
    with rs.testing.watch_seeding("error"):
        with pytest.raises(StraySeedingError, match=rf"called torch\.manual_seed\(3\) at {__file__}:"):
            manual_seed(3)
        assert before.moved() == []


def test_a_hidden_seeding_in_mode_error_raises_and_the_scope_still_restores():
    before = rs.snapshot()
    with rs.testing.watch_seeding("error"):
        with pytest.raises(StraySeedingError, match="seeded with 3"), rs.seeded(master_seed=1, restore=True):
            torch.default_generator.manual_seed(3)
        assert before.moved() == []


def test_an_exception_of_the_body_is_not_covered_by_a_finding():
    with pytest.raises(ZeroDivisionError), rs.testing.watch_seeding("error") as watch:
        _ = 1 / (torch.default_generator.manual_seed(3).initial_seed() - 3)
    assert [stray.what for stray in watch.found] == ["torch"]


def test_watches_nest_and_report_once():
    with rs.testing.watch_seeding() as outer, rs.testing.watch_seeding() as inner, pytest.warns(StraySeedingWarning):
        random.seed(1)
    assert (len(inner.found), len(outer.found)) == (1, 0)


def test_it_decorates_functions_generators_and_coroutines():
    @rs.testing.watch_seeding("error")
    def plain():
        random.seed(0)

    @rs.testing.watch_seeding("error")
    def generator():
        yield 1
        random.seed(0)

    @rs.testing.watch_seeding("error")
    async def coroutine():
        await asyncio.sleep(0)
        random.seed(0)

    before = _functions()
    with pytest.raises(StraySeedingError):
        plain()
    iterator = generator()
    next(iterator)
    assert _functions() == before
    with pytest.raises(StraySeedingError):
        next(iterator)
    with pytest.raises(StraySeedingError):
        asyncio.run(coroutine())
    assert _functions() == before


def test_another_threads_seeding_is_seen():
    with rs.testing.watch_seeding() as watch, pytest.warns(StraySeedingWarning), ThreadPoolExecutor(1) as pool:
        pool.submit(random.seed, 5).result()
    assert [stray.what for stray in watch.found] == ["random.seed"]


def test_a_forked_worker_seeds_as_it_likes():
    data = torch.utils.data.TensorDataset(torch.arange(4))
    with rs.testing.watch_seeding("error") as watch:
        batches = list(torch.utils.data.DataLoader(data, num_workers=1, multiprocessing_context="fork"))
    assert len(batches) == 4
    assert watch.found == []


def test_another_mode_is_refused_and_an_unused_watch_warns():
    with pytest.raises(CoordinateTypeError, match=r"watch_seeding\('loud'\): allowed are 'warn' and 'error'\."):
        rs.testing.watch_seeding("loud")
    with pytest.warns(UnenteredScopeWarning, match=r"^Nothing was watched: write `with rs\.testing\.watch_seeding"):
        rs.testing.watch_seeding()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("warn", "called torch.manual_seed(1) at <string>:6: it seeds behind the run's back"),
        ("error", "StraySeedingError: the script called torch.manual_seed(1)"),
        ("loud", "REPROSEED_WATCH='loud': allowed are 'warn' and 'error'."),
    ],
)
def test_the_variable_turns_it_on_at_init_and_says_so(value, expected):
    code = """
import logging, torch, reproseed as rs
logging.basicConfig(level="INFO")
rs.init(master_seed=1)
rs.init(master_seed=1)
torch.manual_seed(1)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"REPROSEED_WATCH": value},
    )
    assert expected in done.stderr
    if value != "loud":
        assert done.stderr.count(f"stray seeding is watched for, mode {value}, as REPROSEED_WATCH asks") == 1
