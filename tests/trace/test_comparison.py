"""What counts as a difference, where two runs part, and how they are put side by side. Every trace is a real one."""

from __future__ import annotations

import json
import random

import pytest
import torch
from training import train

from reproseed.trace import Divergence, TraceFormatError, compare, diff, read, record
from reproseed.trace.align import Pair, matches
from reproseed.trace.causes import ALSO, NAMES, RULES
from reproseed.trace.evidence import VALUES


def traced(path, **options):
    level = options.pop("level", "tensors")
    with record(path, level=level):
        train(options.pop("kind", "cnn"), **options)
    return read(path)


def at_1_1(action):
    return lambda epoch, step, model: action(model) if (epoch, step) == (1, 1) else None


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return traced(tmp_path_factory.mktemp("plain") / "a.jsonl.gz")


@pytest.mark.parametrize(
    ("action", "cause", "what"),
    [
        pytest.param(
            lambda m: torch.rand(17), "RNG_EXTRA_DRAW", "generators (before forward of Cnn) differ", id="draw"
        ),
        pytest.param(
            lambda m: torch.manual_seed(3), "RNG_RESEED", "generators (before forward of Cnn) differ", id="reseed"
        ),
        pytest.param(lambda m: m.eval(), "MODE", "output of Cnn.norm differs", id="mode"),
        pytest.param(lambda m: m.head.weight.data.add_(1), "PARAMS_EDITED", "parameters of Cnn differ", id="edit"),
        pytest.param(lambda m: setattr(m.drop, "p", 0.1), "MODULE_CONFIG", "output of Cnn.drop differs", id="setting"),
    ],
)
def test_place_and_cause_are_named(plain, tmp_path, action, cause, what):
    found = diff(plain, traced(tmp_path / "b.jsonl.gz", hurt=at_1_1(action)))
    assert found is not None
    assert (found.epoch, found.step, found.what) == (1, 1, what)
    assert (found.cause.name, found.cause.confidence) == (cause, "certain")
    assert found.cause.remedy


def test_the_number_of_words_is_in_the_evidence(plain, tmp_path):
    found = diff(plain, traced(tmp_path / "b.jsonl.gz", hurt=at_1_1(lambda m: torch.rand(17))))
    assert found is not None
    assert found.cause.evidence == ("torch.cpu: same stream, B drew 17 words more, before forward of Cnn",)
    back = diff(traced(tmp_path / "c.jsonl.gz", hurt=at_1_1(lambda m: torch.rand(17))), plain)
    assert back is not None
    assert back.cause.evidence == ("torch.cpu: same stream, A drew 17 words more, before forward of Cnn",)


def test_what_was_equal_is_listed_from_what_was_compared(plain, tmp_path):
    found = diff(plain, traced(tmp_path / "b.jsonl.gz", hurt=at_1_1(lambda m: m.eval())))
    assert found is not None
    assert "parameters of Cnn" in found.equal
    assert "input of Cnn" in found.equal
    assert found.what.removesuffix(" differs") not in found.equal


def test_a_record_of_one_side_alone_is_no_difference(plain, tmp_path):
    probe = torch.nn.Linear(1, 1)
    other = traced(tmp_path / "b.jsonl.gz", hurt=at_1_1(lambda m: probe(torch.ones(1, 1))))
    assert compare(plain, other).divergence is None


def test_a_shorter_run_is_compared_as_far_as_it_goes(plain, tmp_path):
    found = compare(plain, traced(tmp_path / "b.jsonl.gz", epochs=1))
    assert found.divergence is None
    assert 0 < found.compared < len(plain.places)


def test_another_level_compares_what_both_have(plain, tmp_path):
    found = compare(plain, traced(tmp_path / "b.jsonl.gz", level="state"))
    assert found.divergence is None
    assert "A was recorded at level tensors, B at state: compared is what both have" in found.notes


def test_settings_that_differ_without_effect_are_told_and_are_no_difference(plain, tmp_path):
    found = compare(plain, traced(tmp_path / "b.jsonl.gz", hurt=lambda e, s, m: setattr(m, "calls", e * 10 + s)))
    assert found.divergence is None
    assert any(note.startswith("settings of Cnn differs") for note in found.notes)


def test_a_setting_that_differed_before_without_effect_is_not_blamed_later(plain, tmp_path):
    def hurt(epoch, step, model):
        model.calls = epoch * 10 + step
        if (epoch, step) == (1, 1):
            model.norm.running_mean += 1

    found = diff(plain, traced(tmp_path / "b.jsonl.gz", hurt=hurt))
    assert found is not None
    assert [cause.name for cause in found.causes] == ["BUFFERS"]


def test_traces_without_a_common_place_cannot_be_compared(plain, tmp_path):
    path = tmp_path / "b.jsonl.gz"
    with record(path):
        torch.nn.Linear(2, 2)(torch.ones(1, 2))
    with pytest.raises(TraceFormatError, match="have no place in common: one goes from"):
        compare(plain, read(path))


def test_ranks_are_compared_by_what_they_have_in_common(plain, tmp_path):
    other = traced(tmp_path / "b.jsonl.gz", hurt=at_1_1(lambda m: torch.rand(17)))
    other.header["rank"] = 1
    found = compare(plain, other)
    assert found.divergence is None or not found.divergence.what.startswith("generators")
    assert "ranks 0 and 1 of one run: compared are parameters, gradients and optimizers alone" in found.notes


def test_runs_without_addresses_are_aligned_from_the_end_or_by_their_parameters(tmp_path):
    def loop(path, hurt=None):
        torch.manual_seed(0)
        model = torch.nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with record(path):
            for step in range(6):
                if step == hurt:
                    model.weight.data.mul_(2)
                model(torch.full((1, 2), float(step))).sum().backward()
                optimizer.step()
                optimizer.zero_grad()
        return read(path)

    whole = loop(tmp_path / "a.jsonl.gz")
    part = read(tmp_path / "a.jsonl.gz")
    part.places = [p for p in part.places if p.tick >= 2]
    for place in part.places:
        place.tick -= 2
    assert [m.a.tick for m in matches(whole, part, "tail")] == [2, 3, 4, 5]
    assert compare(whole, part, "tail").divergence is None
    assert [m.a.tick for m in matches(whole, part)] == [2, 3, 4, 5]
    hurt = diff(whole, loop(tmp_path / "b.jsonl.gz", hurt=3))
    assert hurt is not None
    assert (hurt.address, hurt.cause.name) == ({"optimizer_step": 3}, "PARAMS_EDITED")


def test_a_field_that_no_rule_knows_is_unknown_with_evidence(plain, tmp_path):
    other = traced(tmp_path / "b.jsonl.gz")
    for place in other.places:
        for one in place.records:
            if one["t"] == "loss":
                one["odd"] = 1
    found = diff(plain, other)
    assert found is not None
    assert found.cause.name in ("LOSS", "UNKNOWN")
    assert found.cause.evidence


def test_generators_that_nobody_seeded_are_blamed_only_where_they_are_drawn_from(tmp_path):
    def loop(path, seed, draws):
        random.seed(seed)
        torch.manual_seed(0)
        model = torch.nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with record(path):
            for _ in range(3):
                x = torch.full((1, 2), random.random() if draws else 1.0)
                model(x).sum().backward()
                optimizer.step()
        return read(path)

    silent = [loop(tmp_path / f"{seed}.jsonl.gz", seed, False) for seed in (1, 2)]
    same = compare(*silent)
    assert same.divergence is None
    assert "nobody seeded python alike: they stand elsewhere from the start" in same.notes
    found = diff(*(loop(tmp_path / f"{seed}.jsonl.gz", seed, True) for seed in (1, 2)))
    assert found is not None
    assert found.what == "input of Linear differs"


def test_a_divergence_shows_itself(plain, tmp_path):
    found = diff(plain, traced(tmp_path / "b.jsonl.gz", hurt=at_1_1(lambda m: torch.rand(17))))
    assert isinstance(found, Divergence)
    assert found.summary.startswith(
        "The runs part at task=train, epoch=1, step=1: generators (before forward of Cnn) differ; "
    )
    assert "cause: RNG_EXTRA_DRAW (certain)" in str(found)
    assert "<b>RNG_EXTRA_DRAW</b> (certain)" in found._repr_html_()
    assert json.loads(json.dumps(found.to_dict()))["address"] == {"task": "train", "epoch": 1, "step": 1}


def test_every_value_has_rules_and_every_rule_a_name():
    assert set(RULES) == VALUES
    assert len(NAMES) == 28
    assert all(callable(rule) for rules in (*RULES.values(), ALSO) for rule in rules)


def test_a_pair_of_one_side_does_not_differ():
    assert not Pair("loss", "loss", {"t": "loss", "n": "loss"}, None).differ
