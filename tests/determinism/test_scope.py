"""`deterministic`: what it sets, and that it gives back exactly what it found."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import pickle
import random
import subprocess
import sys
import threading

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import reproseed as rs
from reproseed.determinism import TABLE, WORKSPACE, end_run
from reproseed.determinism import scope as scope_module
from reproseed.errors import CoordinateTypeError, DecorationError, UnenteredScopeWarning

# Another value than the one in force, for each flag that a CPU build of torch can set.
ODD = {
    "deterministic_algorithms": (False, True),
    "fill_uninitialized_memory": False,
    "inductor.deterministic": True,
    "cudnn.enabled": False,
    "cudnn.deterministic": True,
    "cudnn.benchmark": True,
    "mkldnn.enabled": False,
    "mkldnn.deterministic": True,
    "fp32_precision": True,
    "sdp.flash": False,
    "sdp.efficient": False,
    "sdp.math": False,
    "sdp.cudnn": False,
    "sdp.math_reduced_precision": True,
    "cuda.matmul.allow_fp16_reduced_precision_reduction": False,
    "cuda.matmul.allow_bf16_reduced_precision_reduction": False,
    "cuda.matmul.allow_fp16_accumulation": True,
    WORKSPACE: ":16:8",
    "num_threads": 1,
}
ODD = {name: value for name, value in ODD.items() if TABLE[name].read() != "absent"}
EVERYTHING = {
    "benchmark": False,
    "cudnn": False,
    "fill": True,
    "tf32": False,
    "attention": "math",
    "reduced_precision": False,
    "threads": 1,
    "flags": {"mkldnn.enabled": False},
}


def _read() -> dict:
    return {name: TABLE[name].read() for name in ODD}


@pytest.fixture(params=["as found", "odd"])
def before(request):
    """The flags before a scope: those of a new process, and each of them otherwise."""
    saved = {name: TABLE[name].save() for name in ODD}
    if request.param == "odd":
        for name, value in ODD.items():
            TABLE[name].write(value)
    yield _read()
    for name, value in saved.items():
        TABLE[name].restore(value)


def _leave_normally(mode):
    with rs.deterministic(mode, **EVERYTHING):
        assert _read() != {}


def _leave_by_exception(mode):
    with pytest.raises(ZeroDivisionError), rs.deterministic(mode, **EVERYTHING):
        _ = 1 / 0


def _leave_nested(mode):
    with rs.deterministic("error", **EVERYTHING):
        outer = _read()
        with rs.deterministic("warn", tf32=True, threads=2):
            middle = _read()
            with rs.deterministic(mode, **EVERYTHING), contextlib.suppress(KeyError), rs.deterministic("off"):
                raise KeyError
            assert _read() == middle
        assert _read() == outer


def _leave_decorated(mode):
    @rs.deterministic(mode, **EVERYTHING)
    def function(depth):
        inside = _read()
        if depth:
            function(depth - 1)
        assert _read() == inside

    function(3)


def _leave_reentered(mode):
    scope = rs.deterministic(mode, **EVERYTHING)
    with scope, scope, rs.deterministic("off", threads=2), scope:
        pass


def _leave_in_a_thread(mode):
    found = []

    def work():
        at_first = _read()
        with rs.deterministic(mode, **EVERYTHING):
            pass
        found.append(_read() == at_first)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [True]


def _leave_generator(mode):
    caller = _read()

    @rs.deterministic(mode, **EVERYTHING)
    def function():
        inside = _read()
        for i in range(3):
            yield i
            assert _read() == inside

    for _ in function():
        assert _read() == caller
    left_early = function()
    next(left_early)
    left_early.close()


def _leave_coroutine(mode):
    caller = _read()

    @rs.deterministic(mode, **EVERYTHING)
    async def function():
        inside = _read()
        await asyncio.sleep(0)
        assert _read() == inside

    async def both():
        async def watch():
            for _ in range(3):
                assert _read() == caller
                await asyncio.sleep(0)

        await asyncio.gather(function(), watch(), function())

    asyncio.run(both())


LEAVE = [value for name, value in list(globals().items()) if name.startswith("_leave_")]


@pytest.mark.parametrize("mode", ["error", "warn", "off"])
@pytest.mark.parametrize("leave", LEAVE, ids=lambda leave: leave.__name__.removeprefix("_leave_"))
def test_every_flag_reads_as_before_after(before, leave, mode):
    leave(mode)
    assert _read() == before


@pytest.mark.parametrize("name", ODD)
def test_a_row_of_the_table_is_set_and_put_back(before, name):
    value = ODD[name]
    with rs.deterministic("off", flags={name: value}):
        now = TABLE[name].read()
        if name == "fp32_precision":
            assert torch.backends.cuda.matmul.allow_tf32 is value
        elif name.startswith("cuda.preferred"):
            assert value in str(now).lower()
        else:
            assert now in (value, (value, value), before[name] if name == WORKSPACE else value)
    assert _read() == before


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        ("error", (True, False)),
        ("warn", (True, True)),
        ("off", (False, False)),
    ],
)
def test_a_mode_sets_the_strictness(mode, wanted):
    with rs.deterministic(mode):
        assert TABLE["deterministic_algorithms"].read() == wanted
        assert torch.backends.cudnn.deterministic is (mode != "off")
        assert torch.backends.mkldnn.deterministic is (mode != "off")
        assert TABLE["inductor.deterministic"].read() is (mode != "off")
        assert torch.backends.cudnn.benchmark is False


def test_an_operation_without_a_deterministic_form_raises_warns_or_runs():
    x, index = torch.zeros(4), torch.tensor([0, 0])
    with rs.deterministic("error"):
        with pytest.raises(RuntimeError, match="put_ does not have a deterministic implementation"):
            x.put_(index, torch.ones(2))
        with rs.deterministic("warn"), pytest.warns(UserWarning, match="put_ does not have"):
            x.put_(index, torch.ones(2))
        with rs.deterministic("off"):
            x.put_(index, torch.ones(2))
        with pytest.raises(RuntimeError, match="put_ does not have"):
            x.put_(index, torch.ones(2))


def test_cudnn_can_be_turned_off_altogether_and_nothing_else_with_it():
    with rs.deterministic(cudnn=False):
        assert torch.backends.cudnn.enabled is False
        assert torch.backends.mkldnn.enabled is True
    with rs.deterministic():
        assert torch.backends.cudnn.enabled is True


def test_attention_is_limited_to_what_is_named():
    with rs.deterministic(attention=("math", "flash")):
        assert [TABLE[f"sdp.{n}"].read() for n in ("math", "flash", "efficient", "cudnn")] == [True, True, False, False]


def test_reduced_precision_sums_are_forbidden():
    with rs.deterministic(reduced_precision=False):
        assert not torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction
        assert not torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction


def test_a_failure_on_entry_changes_nothing(before, monkeypatch):
    failing = TABLE["num_threads"]

    def write(value):
        raise RuntimeError("no threads today")

    monkeypatch.setitem(TABLE, "num_threads", type(failing)(**{**vars(failing), "write": write}))
    with pytest.raises(RuntimeError, match="no threads today"), rs.deterministic("error", **EVERYTHING):
        pass
    assert _read() == before
    assert scope_module.wanted_now() == (None, {})


def test_a_failure_to_put_one_flag_back_puts_the_others_back(monkeypatch):
    failing = TABLE["cudnn.enabled"]

    def restore(value):
        failing.restore(value)
        raise RuntimeError("cuDNN is gone")

    monkeypatch.setitem(TABLE, "cudnn.enabled", type(failing)(**{**vars(failing), "restore": restore}))
    before = _read()
    with pytest.raises(RuntimeError, match="cuDNN is gone"), rs.deterministic("error", **EVERYTHING):
        pass
    assert _read() == before


@pytest.mark.parametrize("n", [2, 3, 4])
def test_scopes_closed_in_any_order_end_as_last_in_first_out(n):
    before = _read()
    asked = [("error", {"threads": 1}), ("off", {"cudnn": False}), ("warn", {"tf32": True}), ("error", EVERYTHING)][:n]
    for order in itertools.permutations(range(n)):
        scopes = [rs.deterministic(mode, **options) for mode, options in asked]
        for scope in scopes:
            scope.__enter__()
        for i in order:
            scopes[i].__exit__(None, None, None)
        assert _read() == before


def test_flags_that_the_body_of_a_generator_changes_stay_its_own():
    @rs.deterministic("error", threads=1)
    def function():
        torch.set_num_threads(2)
        yield torch.get_num_threads()
        yield torch.get_num_threads()

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        seen = [(inside, torch.get_num_threads()) for inside in function()]
        assert seen == [(2, 1), (2, 1)]
    finally:
        torch.set_num_threads(before)


def test_a_scope_left_open_in_a_decorated_generator_is_put_aside_with_it():
    @rs.deterministic("error")
    def function():
        with rs.deterministic("off", cudnn=False):
            yield TABLE["deterministic_algorithms"].read(), torch.backends.cudnn.enabled
            yield TABLE["deterministic_algorithms"].read(), torch.backends.cudnn.enabled
        yield TABLE["deterministic_algorithms"].read(), torch.backends.cudnn.enabled

    before = _read()
    seen = []
    for inside in function():
        seen.append(inside)
        assert _read() == before
    assert seen == [((False, False), False), ((False, False), False), ((True, False), True)]


_STYLES = st.lists(
    st.one_of(
        st.tuples(st.just("matmul"), st.sampled_from(["highest", "high", "medium"])),
        st.tuples(st.just("cudnn"), st.booleans()),
        st.tuples(
            st.sampled_from(
                [("generic", "all"), *((b, o) for b in ("cuda", "mkldnn") for o in ("all", "matmul", "conv", "rnn"))]
            ),
            st.sampled_from(["ieee", "tf32", "none"]),
        ),
    ),
    max_size=4,
)


@pytest.mark.skipif(not hasattr(torch._C, "_set_fp32_precision_setter"), reason="torch before 2.9 has one style only")
@settings(deadline=None, max_examples=150)
@given(steps=_STYLES, tf32=st.booleans())
def test_float32_precision_comes_back_in_whatever_style_it_was_set(steps, tf32):
    row = TABLE["fp32_precision"]
    at_first = row.save()
    try:
        for what, value in steps:
            if what == "matmul":
                torch.set_float32_matmul_precision(value)
            elif what == "cudnn":
                torch.backends.cudnn.allow_tf32 = value
            else:
                torch._C._set_fp32_precision_setter(*what, value)
        before, saved = row.read(), row.save()
        assert row.read() == before
        with rs.deterministic("off", tf32=tf32):
            assert torch.backends.cuda.matmul.allow_tf32 is tf32
            assert torch.backends.cudnn.allow_tf32 is tf32
        assert row.read() == before
        after = row.save()
        assert (after.matmul, after.cudnn) == (saved.matmul, saved.cudnn)
        # cuDNN's convolutions have a default that cannot be written back, only its value.
        changed = {key for key, value in dict(after.own).items() if value != dict(saved.own)[key]}
        assert changed <= {("cuda", "conv"), ("cuda", "rnn")}
    finally:
        row.restore(at_first)


def test_an_inherited_precision_still_follows_afterwards():
    if not hasattr(torch._C, "_set_fp32_precision_setter"):
        pytest.skip("torch before 2.9 has one style only")
    with rs.deterministic("off", tf32=False):
        pass
    get, put = torch._C._get_fp32_precision_getter, torch._C._set_fp32_precision_setter
    try:
        put("generic", "all", "ieee")
        assert get("cuda", "matmul") == get("mkldnn", "conv") == "ieee"
    finally:
        put("generic", "all", "none")


@pytest.mark.slow
def test_inductor_loaded_inside_the_scope_gets_its_flag_back_too():
    code = """
import os, torch, reproseed as rs
with rs.deterministic():
    import torch._inductor.config as config
    assert config.deterministic is True
assert config.deterministic is False
assert "TORCHINDUCTOR_DETERMINISTIC" not in os.environ
config.deterministic = True
with rs.deterministic("off"):
    assert config.deterministic is False
assert config.deterministic is True
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.mark.slow
def test_a_torch_that_lacks_flags_is_served_with_those_it_has():
    """What earlier versions do not have is taken away from this one."""
    code = """
import torch
for name in ("_get_fp32_precision_getter", "_set_fp32_precision_setter"):
    if hasattr(torch._C, name):
        delattr(torch._C, name)
for owner, name in (
    (type(torch.backends.mkldnn), "deterministic"),
    (torch.backends.cuda, "cudnn_sdp_enabled"),
    (torch.backends.cuda, "preferred_blas_library"),
    (torch.backends.cuda, "fp16_bf16_reduction_math_sdp_allowed"),
):
    if hasattr(owner, name):
        delattr(owner, name)
import reproseed as rs
from reproseed.determinism import TABLE, report
before = {name: flag.read() for name, flag in TABLE.items()}
assert before["mkldnn.deterministic"] == before["sdp.cudnn"] == "absent"
with rs.deterministic(tf32=True, attention="math", reduced_precision=False, threads=1, cudnn=False):
    assert torch.backends.cuda.matmul.allow_tf32 and torch.get_num_threads() == 1
    lines = {line.name: line for line in report()}
    assert lines["fp32_precision"].in_force == "yes"
    assert lines["mkldnn.deterministic"].why == "this build of torch has no such flag."
assert {name: flag.read() for name, flag in TABLE.items()} == before
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_decorated_function_and_a_scope_can_be_pickled():
    scope = rs.deterministic("warn", threads=1)
    with scope, pickle.loads(pickle.dumps(scope)):
        assert torch.get_num_threads() == 1
    again = pickle.loads(pickle.dumps(_decorated))
    assert again is _decorated
    assert again() == (True, True)


@rs.deterministic("warn")
def _decorated():
    return TABLE["deterministic_algorithms"].read()


@pytest.mark.slow
def test_entering_does_not_import_inductor():
    code = """
import sys, torch, reproseed as rs
with rs.deterministic():
    assert "torch._inductor.config" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_scope_that_is_never_entered_says_what_to_write():
    with pytest.warns(UnenteredScopeWarning, match=r"^No flag was set: use `with`, or init\(deterministic=\"error\"\)"):
        rs.deterministic()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("strict",), r"deterministic\('strict'\): allowed are 'error', 'warn' and 'off'\."),
        ({"workspace": ":8:8"}, r"workspace=':8:8'\): allowed are ':4096:8' and ':16:8', and None to leave it\."),
        (
            {"attention": "fast"},
            r"attention='fast'\): allowed are one or more of 'flash', 'efficient', 'math', 'cudnn'",
        ),
        ({"attention": ()}, r"attention=\(\)\): allowed are one or more of"),
        ({"flags": {"cudnn.bench": 1}}, r"'cudnn\.bench' is no flag of the table; known are deterministic_algorithms,"),
    ],
    ids=["mode", "workspace", "attention", "no attention", "flag"],
)
def test_an_argument_that_is_not_allowed_is_told_what_is(arguments, sentence):
    with pytest.raises(CoordinateTypeError, match=sentence):
        rs.deterministic(*arguments) if isinstance(arguments, tuple) else rs.deterministic(**arguments)


def test_a_flag_that_this_torch_lacks_is_told_where_it_was_asked_for(monkeypatch):
    row = TABLE["cudnn.benchmark_limit"]
    monkeypatch.setitem(TABLE, row.name, type(row)(**{**vars(row), "read": lambda: "absent"}))
    with (
        pytest.raises(rs.DeterminismError, match=r"no flag cudnn\.benchmark_limit; leave it out\."),
        rs.deterministic(flags={row.name: 5}),
    ):
        pass
    with (
        pytest.warns(rs.DeterminismWarning, match=r"no flag cudnn\.benchmark_limit"),
        rs.deterministic("warn", flags={row.name: 5}),
    ):
        pass


def test_classes_are_refused():
    with pytest.raises(DecorationError, match=r"deterministic\(...\) cannot decorate the class Net"):

        @rs.deterministic()
        class Net: ...


def test_no_generator_moves():
    before = rs.snapshot()
    with rs.deterministic(**EVERYTHING):
        pass
    assert before.moved() == []


# --- for a whole run --------------------------------------------------------------------------------------------


def test_init_sets_the_flags_for_the_whole_run_and_the_next_init_puts_them_back():
    before = _read()
    rs.init(1, deterministic="error")
    assert TABLE["deterministic_algorithms"].read() == (True, False)
    rs.init(1, deterministic="warn")
    assert TABLE["deterministic_algorithms"].read() == (True, True)
    rs.init(1)
    assert _read() == before


def test_init_takes_a_scope_with_further_wishes():
    rs.init(1, deterministic=rs.deterministic("warn", threads=1))
    assert torch.get_num_threads() == 1
    end_run()


def test_an_init_that_fails_leaves_the_flags():
    rs.init(1, deterministic="warn")
    before = _read()
    with pytest.raises(rs.StateError):
        rs.init(1, deterministic="error", resume={"format": 1})
    assert _read() == before
    end_run()


def test_init_refuses_another_mode():
    with pytest.raises(CoordinateTypeError, match="allowed are 'error', 'warn' and 'off'"):
        rs.init(1, deterministic="strict")
    with pytest.raises(
        CoordinateTypeError, match=r"init\(deterministic=True\): allowed are 'error', 'warn', 'off', and"
    ):
        rs.init(1, deterministic=True)
    assert not rs.is_initialized()


@pytest.mark.slow
def test_a_forked_child_may_enter():
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    code = """
import os, torch, reproseed as rs
with rs.deterministic():
    pid = os.fork()
    if pid == 0:
        with rs.deterministic("off"):
            ok = not torch.are_deterministic_algorithms_enabled()
        os._exit(0 if ok and torch.are_deterministic_algorithms_enabled() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120)


def test_the_order_of_random_modes_does_not_matter():
    before, draw = _read(), random.Random(3)
    with contextlib.ExitStack() as scopes:
        for _ in range(30):
            scopes.enter_context(rs.deterministic(draw.choice(["error", "warn", "off"]), threads=draw.choice([1, 2])))
    assert _read() == before
