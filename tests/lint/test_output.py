import json
import pathlib

import pytest

from reproseed.lint import Finding, all_rules, format_github, format_json, format_sarif, format_text

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"
FINDINGS = [
    Finding("a/träin 1.py", 3, 1, 3, 14, "RS106", "E", "From the OS.", "random.seed()"),
    Finding("b.py", 1, 2, 4, 3, "RS201", "I", "No generator.", "f(100%, x:\ny)"),
]


def test_text_is_one_line_a_finding_and_a_count():
    assert format_text(FINDINGS[:1]) == (
        "a/träin 1.py:3:1: RS106 E From the OS. [random.seed()]\n"
        "1 finding in 1 file. --explain RS106 says why, and what to write instead.\n"
    )
    assert "2 findings in 2 files." in format_text(FINDINGS)


def test_text_explains_no_code_that_is_no_rule():
    broken = Finding("a.py", 1, 1, 1, 1, "RS002", "E", "Does not parse.", "")
    assert format_text([broken]).endswith("1 finding in 1 file.\n")


def test_text_of_no_finding_is_empty():
    assert format_text([]) == ""


def test_json_is_frozen():
    """A change of the format needs another version in ``format``, and another file."""
    assert format_json(FINDINGS) == (GOLDEN / "lint-report-1.json").read_text(encoding="utf-8")


def test_json_of_no_finding_is_a_report():
    report = json.loads(format_json([]))
    assert report == {"format": "reproseed.lint/1", "counts": {}, "findings": []}


def test_sarif_is_one_run_with_rules_and_results():
    log = json.loads(format_sarif(FINDINGS))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [r["id"] for r in rules] == [r.code for r in all_rules()]
    assert all(r["shortDescription"]["text"] and r["help"]["text"] for r in rules)
    assert {r["defaultConfiguration"]["level"] for r in rules} == {"error", "warning", "note"}
    first, second = run["results"]
    assert (first["ruleId"], first["level"], second["level"]) == ("RS106", "error", "note")
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a/tr%C3%A4in%201.py"
    assert place["region"] == {"startLine": 3, "startColumn": 1, "endLine": 3, "endColumn": 14}


@pytest.mark.parametrize("findings", [[], FINDINGS], ids=["none", "two"])
def test_sarif_has_what_the_standard_requires(findings):
    """Required properties of SARIF 2.1.0: 3.13, 3.14, 3.19, 3.27, 3.49; regions count from 1."""
    log = json.loads(format_sarif(findings))
    assert set(log) == {"$schema", "version", "runs"}
    for run in log["runs"]:
        assert run["tool"]["driver"]["name"]
        ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        assert len(ids) == len(set(ids))
        assert len(run["results"]) == len(findings)
        for result in run["results"]:
            assert result["message"]["text"]
            assert result["level"] in ("none", "note", "warning", "error")
            for location in result["locations"]:
                region = location["physicalLocation"]["region"]
                assert all(isinstance(v, int) and v >= 1 for v in region.values())


def test_github_annotations_escape_their_data():
    first, second, end = format_github(FINDINGS).split("\n")
    assert first == ("::error file=a/träin 1.py,line=3,endLine=3,col=1,title=RS106::From the OS. [random.seed()]")
    assert second == ("::notice file=b.py,line=1,endLine=4,col=2,title=RS201::No generator. [f(100%25, x:%0Ay)]")
    assert end == ""


def test_github_properties_escape_what_separates_them():
    odd = Finding("a,b:c.py", 1, 1, 1, 1, "RS106", "W", "S.", "")
    assert format_github([odd]).startswith("::warning file=a%2Cb%3Ac.py,line=1,")
