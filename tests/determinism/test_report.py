"""What `report` says of a flag: wanted, current, in force, why."""

from __future__ import annotations

import pytest
import torch

import reproseed as rs
from reproseed.determinism import TABLE, WORKSPACE, report


def _by_name(**keywords):
    return {line.name: line for line in report(**keywords)}


def test_every_flag_and_the_hash_seed_are_reported_and_nothing_changes():
    before = {name: flag.read() for name, flag in TABLE.items()}
    lines = report()
    assert [line.name for line in lines] == [*TABLE, "PYTHONHASHSEED"]
    assert {line.in_force for line in lines} <= {"yes", "no", "unknown"}
    assert all(line.why.endswith(".") for line in lines)
    assert {name: flag.read() for name, flag in TABLE.items()} == before


def test_outside_every_scope_nothing_is_wanted():
    assert all(line.wanted is None for line in report())


def test_inside_a_scope_what_it_asked_for_is_wanted_and_in_force():
    with rs.deterministic("error", threads=1, tf32=False):
        lines = _by_name()
        assert (lines["num_threads"].wanted, lines["num_threads"].in_force) == (1, "yes")
        assert lines["deterministic_algorithms"].in_force == "yes"
        assert lines["fp32_precision"].in_force == "yes"
        with rs.deterministic("off"):
            assert _by_name()["deterministic_algorithms"].wanted == (False, False)
            assert _by_name()["num_threads"].wanted == 1


def test_a_flag_that_the_body_changed_is_not_in_force():
    with rs.deterministic():
        torch.set_deterministic_debug_mode(0)
        line = _by_name()["deterministic_algorithms"]
        assert (line.wanted, line.current, line.in_force) == ((True, False), (False, False), "no")
        assert line.why.startswith("it reads otherwise; it decides whether operations")


def test_a_mode_can_be_compared_with_without_entering_it():
    line = _by_name(mode="error")["deterministic_algorithms"]
    assert (line.wanted, line.in_force) == ((True, False), "no")


@pytest.mark.skipif(torch.backends.cudnn.is_available(), reason="cuDNN is here")
def test_a_flag_without_its_library_is_set_and_not_in_force():
    with rs.deterministic():
        line = _by_name()["cudnn.deterministic"]
        assert (line.wanted, line.current, line.in_force) == (True, True, "no")
        assert line.why == "cuDNN is not in this build of torch: there is nothing to act on."


@pytest.mark.skipif(torch.version.cuda is not None, reason="cuBLAS is here")
def test_without_cublas_nobody_reads_its_variable():
    assert _by_name()[WORKSPACE].why == "this build of torch has no cuBLAS: nothing reads it."


def test_fill_acts_only_while_deterministic_algorithms_are_on():
    assert _by_name()["fill_uninitialized_memory"].in_force == "no"
    with rs.deterministic():
        assert _by_name()["fill_uninitialized_memory"].in_force == "yes"


def test_mode_warn_says_that_efficient_attention_is_not_covered():
    with rs.deterministic("warn"):
        assert 'attention="math"' in _by_name()["sdp.efficient"].why
    with rs.deterministic("error"):
        assert 'attention="math"' not in _by_name()["sdp.efficient"].why


def test_code_compiled_before_keeps_its_flags(monkeypatch):
    import torch._dynamo.utils as utils

    monkeypatch.setitem(utils.counters["stats"], "unique_graphs", 1)
    with rs.deterministic():
        line = _by_name()["inductor.deterministic"]
        assert line.in_force == "unknown"
        assert "compiled before" in line.why
