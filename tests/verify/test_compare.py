import json
import sys

import pytest

from reproseed.verify import compare_versions
from reproseed.verify.compare import CompareReport
from reproseed.verify.errors import UsageError


@pytest.fixture(scope="module")
def commands(scripts):
    base = f"{sys.executable} {scripts / 'tasks.py'}"
    return base, f"{base} -0.01"


def report_of(first, second, better="lower", path=None):
    return CompareReport("loss", better, ("a", "b"), first, second, [], [], 1, path)


@pytest.fixture(scope="module")
def report(commands, tmp_path_factory):
    return compare_versions(*commands, repeats=6, epochs=1, jobs=2, threads=1, out=tmp_path_factory.mktemp("compare"))


def test_a_small_gain_is_seen_through_a_large_common_spread(report):
    """The seeds move both by 1, the versions differ by 0.01: pairs show it, means do not."""
    assert max(report.first) - min(report.first) > 0.5
    assert report.mean_difference == pytest.approx((-0.01,) * 3)
    assert report.improvement[0] == 1
    assert report.improvement[1] > 0.5
    assert report.headline == "The second is better"
    assert report.unpaired_runs > 1e6


def test_both_sides_of_a_pair_have_the_same_seed(report):
    seeds = {r.name: r.job.seed for r in report.records}
    assert all(seeds[f"first-{i}"] == seeds[f"second-{i}"] for i in range(6))
    assert len(set(seeds.values())) == 6


def test_the_runs_of_an_unpaired_comparison_follow_from_the_variances():
    first, second = [0.0, 2.0, 4.0, 6.0], [1.0, 2.0, 5.0, 6.0]
    # Variances 20/3, 17/3 and 1/3 of the pairs' differences: 4 * (37/3) / (1/3).
    assert report_of(first, second).unpaired_runs == 148


@pytest.mark.parametrize(
    ("first", "second", "better", "headline"),
    [
        ([1.0] * 8, [0.0] * 8, "lower", "The second is better"),
        ([1.0] * 8, [0.0] * 8, "higher", "The first is better"),
        ([1.0] * 8, [1.0] * 8, "lower", "The two versions give equal results"),
        ([1.0, 0.0] * 4, [0.0, 1.0] * 4, "lower", "No difference is shown"),
        ([1.0] * 7 + [0.0] * 3, [0.0] * 7 + [1.0] * 3, "lower", "No difference is shown"),
        ([1.0] * 70 + [0.0] * 30, [0.0] * 70 + [1.0] * 30, "lower",
         "The second is better, but not by much"),
    ],
    ids=["better", "worse", "equal", "even", "too few", "not by much"],
)  # fmt: skip
def test_the_headline_follows_the_probability_of_improvement(first, second, better, headline):
    assert report_of(first, second, better).headline == headline


def test_the_report_is_written_as_json_page_and_picture(report):
    page = report.save()
    data = json.loads((page.parent / "report.json").read_text())
    assert data["format"] == "reproseed.compare/1"
    assert len(data["first"]) == len(data["second"]) == 6
    assert (page.parent / "pairs.png").exists()
    text = page.read_text()
    assert "http" not in text
    assert report._repr_html_() in text


def test_pairs_with_a_failed_run_are_left_out_and_said(commands, tmp_path):
    broken = ["-c", "import os, sys; sys.exit(os.environ['REPROSEED_REPEAT'] == '1')"]
    both = [sys.executable, *broken]
    with pytest.raises(UsageError, match="no run gave a metric"):
        compare_versions(both, both, repeats=4, epochs=1, jobs=2, out=tmp_path)
    with pytest.raises(UsageError, match=r"only 0 of 4 pairs are whole; .* first-1 failed"):
        compare_versions(both, commands[1], repeats=4, epochs=1, jobs=2, out=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"repeats": 3}, "repeats is 3; a comparison needs at least 4 pairs"),
        ({"better": "bigger"}, "better is 'bigger'; it must be lower or higher"),
    ],
    ids=["repeats", "better"],
)
def test_wrong_arguments_are_refused(commands, tmp_path, arguments, message):
    with pytest.raises(UsageError, match=message):
        compare_versions(*commands, out=tmp_path, **arguments)
