import json
import sys

import pytest

from reproseed.verify import study_variance
from reproseed.verify.errors import UsageError


@pytest.fixture(scope="module")
def command(scripts):
    return [sys.executable, str(scripts / "tasks.py")]


@pytest.fixture(scope="module")
def report(command, tmp_path_factory):
    return study_variance(
        command, tasks=["init", "order", "dropout"], repeats=6, epochs=1, jobs=2, threads=1,
        out=tmp_path_factory.mktemp("study"),
    )  # fmt: skip


def test_each_task_moves_the_result_as_much_as_it_does(report):
    sds = {s.name: s.spread[0] for s in report.sources}
    assert list(sds) == ["init", "order", "dropout", "all", "none"]
    assert sds["init"] > 3 * sds["order"] > 0
    assert sds["dropout"] == sds["none"] == 0
    for source in report.sources:
        sd, low, high = source.spread
        assert len(source.values) == 6
        assert low <= sd <= high


def test_what_nothing_draws_from_is_named(report):
    assert report.notes == [
        "Varying dropout changes nothing: the script draws nothing in seeded(task='dropout'),"
        " or does not use reproseed."
    ]
    assert report.exit_code == 0


def test_the_report_is_written_as_json_page_and_picture(report):
    page = report.save()
    data = json.loads((page.parent / "report.json").read_text())
    assert data["format"] == "reproseed.study/1"
    assert [s["name"] for s in data["sources"]] == ["init", "order", "dropout", "all", "none"]
    assert (page.parent / "spread.png").exists()
    text = page.read_text()
    assert "http" not in text
    assert report._repr_html_() in text
    assert str(report.out) not in text


def test_what_seeding_does_not_reach_is_named(toy_command, tmp_path):
    report = study_variance(toy_command("private generator"), tasks=["init"], repeats=4, epochs=1, jobs=2, out=tmp_path)
    assert report.sources[-1].spread[0] > 0
    assert any("comes from what seeding does not reach" in note for note in report.notes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tasks": ["init"], "repeats": 3}, "repeats is 3; a study needs at least 4"),
        ({"tasks": []}, "tasks is ''; expected different names"),
        ({"tasks": ["init", "init"]}, "tasks is 'init, init'; expected different names"),
        ({"tasks": ["all"]}, "neither 'all' nor 'none'"),
        ({"tasks": ["init"], "metric": "acc", "repeats": 4, "epochs": 1},
         "the metric to look at is 'acc', but the runs reported loss"),
    ],
    ids=["repeats", "no task", "twice", "reserved", "no such metric"],
)  # fmt: skip
def test_what_cannot_be_studied_is_refused(command, tmp_path, arguments, message):
    with pytest.raises(UsageError, match=message):
        study_variance(command, out=tmp_path, jobs=2, **arguments)
