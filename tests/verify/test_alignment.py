import pytest

from reproseed.verify.alignment import prefix, tail
from reproseed.verify.differences import compare_runs
from reproseed.verify.metrics import Point

STEPS, EPOCHS, HALF = 3, 4, 2


def training(first, last, *, place="both", final=True, shift=0):
    """Values of a training; `place` tells which of epoch and step it reports."""
    points = []
    for epoch in range(first, last):
        for i in range(STEPS):
            value = float(epoch * STEPS + i)
            step = {"both": epoch * STEPS + i - shift, "step in epoch": i}.get(place)
            if place == "step":
                step = epoch * STEPS + i - shift
            at = None if place in {"step", "none"} else epoch
            points.append(Point("loss", value, step, at))
        points.append(Point("eval", 100.0 + epoch, None, epoch if place != "none" else None))
    if final:
        points.append(Point("test", 7.0 * last))
    return points


@pytest.mark.parametrize("place", ["both", "step", "step in epoch", "epoch", "none"])
def test_parts_of_one_training_are_equal_however_places_are_reported(place):
    full, half = training(0, EPOCHS, place=place), training(0, HALF, place=place)
    resumed = training(HALF, EPOCHS, place=place)
    a, b, _ = prefix(full, half)
    assert compare_runs("prefix", "a", "b", a, b).equal
    assert len(b) == HALF * (STEPS + 1)
    a, b, _ = tail(full, half, resumed)
    assert compare_runs("resume", "a", "b", a, b).equal
    assert len(b) == len(resumed)


@pytest.mark.parametrize("place", ["both", "step", "epoch", "none"])
def test_a_changed_value_is_found_in_either_part(place):
    full, half = training(0, EPOCHS, place=place), training(0, HALF, place=place)
    resumed = training(HALF, EPOCHS, place=place)
    half[1] = Point("loss", -1.0, half[1].step, half[1].epoch)
    resumed[2] = Point("loss", -1.0, resumed[2].step, resumed[2].epoch)
    assert not compare_runs("prefix", "a", "b", *prefix(full, half)[:2]).equal
    assert not compare_runs("resume", "a", "b", *tail(full, half, resumed)[:2]).equal


def test_steps_that_begin_anew_after_a_resume_are_compared_in_order():
    full, half = training(0, EPOCHS, place="step"), training(0, HALF, place="step")
    resumed = training(HALF, EPOCHS, place="step", shift=HALF * STEPS)
    a, b, note = tail(full, half, resumed)
    assert compare_runs("resume", "a", "b", a, b).equal
    assert note == "steps begin anew after the resume, compared in order: loss"


def test_a_metric_of_the_end_is_no_part_of_the_beginning():
    a, b, note = prefix(training(0, EPOCHS), training(0, HALF))
    assert "test" not in {p.name for p in [*a, *b]}
    assert note == "logged once, at the end, so not compared: test"


def test_a_resumed_run_that_begins_late_lacks_values():
    full, half = training(0, EPOCHS), training(0, HALF)
    a, b, _ = tail(full, half, training(HALF + 1, EPOCHS))
    found = compare_runs("resume", "a", "b", a, b)
    assert (found.size, found.first.epoch, found.first.b) == ("logic", HALF, None)


def test_a_resumed_run_that_begins_early_is_compared_over_all_it_reports():
    full, half = training(0, EPOCHS), training(0, HALF)
    a, b, _ = tail(full, half, training(HALF - 1, EPOCHS))
    assert len(a) == len(b) == 3 * (STEPS + 1) + 1


def test_a_metric_that_only_the_resumed_run_has_is_a_difference():
    full, half = training(0, EPOCHS), training(0, HALF)
    a, b, _ = tail(full, half, [*training(HALF, EPOCHS), Point("warning", 1.0)])
    assert compare_runs("resume", "a", "b", a, b).first.metric == "warning"


def test_a_gap_in_the_half_run_is_a_difference():
    half = training(0, HALF)
    del half[1]
    a, b, _ = prefix(training(0, EPOCHS), half)
    assert compare_runs("prefix", "a", "b", a, b).first.b is None
