import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1] / "golden" / "verify-1.json"


def shape(value):
    """Return the keys and kinds of a report, without its values; of a list, one element's."""
    if isinstance(value, dict):
        return {key: shape(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return {bool: "bool", int: "number", float: "number", str: "text", type(None): "null"}[type(value)]


class Page(HTMLParser):
    """Collects what a page refers to, and checks that its elements close."""

    def __init__(self, text):
        super().__init__()
        self.references, self.open, self.ids = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in {"href", "src", "srcset", "action", "data", "xlink:href"}:
                self.references.append(value)
            if name == "id":
                self.ids.append(value)
        if tag not in {"meta", "br", "link"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def saved(lost_optimizer_report):
    lost_optimizer_report.save()
    return lost_optimizer_report


def test_the_shape_of_the_json_is_frozen(saved):
    """Other tools read it: a change of shape needs another version number."""
    assert shape(saved.to_dict()) == json.loads(GOLDEN.read_text())


def test_the_json_is_plain_and_complete(saved):
    data = json.loads((saved.out / "report.json").read_text())
    assert (data["format"], data["verdict"], data["exit_code"]) == ("reproseed.verify/1", "FAIL", 1)
    assert [arm["name"] for arm in data["arms"]] == ["full", "half", "resume", "unseeded", "other"]
    (resume, _) = (c for c in data["comparisons"] if c["name"] == "resume")
    assert resume["pair"] == ["full-0", "resume-0"]
    assert resume["first"]["ulp"] > 4096
    assert data["thresholds"] == {"rounding_ulp": 64, "logic_ulp": 4096, "early": 0.1}
    for name in data["pictures"].values():
        assert (saved.out / name).read_bytes().startswith(b"\x89PNG")


def test_reports_name_no_place_on_this_machine(saved):
    for text in (saved.to_json(), saved.to_html()):
        assert str(saved.out) not in text
        assert str(Path(__file__).parents[2]) not in text
        assert sys.prefix not in text
        assert not re.search(r"(?<![\w.:/~}…])/(?:home|root|tmp|usr|Users)/", text)


def test_the_page_is_self_contained_and_well_formed(saved):
    text = saved.to_html()
    page = Page(text)
    assert page.open == []
    assert all(reference.startswith("#") for reference in page.references)
    for outside in ("http:", "https:", "//www", "@import", "url(http", "<script", "<link"):
        assert outside not in text
    assert set(re.findall(r"url\(([^)]*)\)", text)) <= {f"#{name}" for name in page.ids}


def test_the_page_says_verdict_reason_and_what_to_do(saved):
    text = saved.to_html()
    assert '<h1 class="bad">Not reproducible</h1>' in text
    assert "the checkpoint lacks something" in text
    assert "reproseed diff full-0.trace.jsonl.gz resume-0.trace.jsonl.gz" in text
    assert text.count("<svg") == text.count("<figcaption") == 5


def test_pictures_leave_their_ink_to_the_page(saved):
    """So that they are legible on light and on dark ground."""
    svg = saved.to_html().partition("<svg")[2]
    assert "currentColor" in svg
    assert "#1a1b1e" not in svg
    assert "#ffffff" not in svg
    assert "#000000" not in svg


def test_text_of_scripts_cannot_become_markup(verify_toy):
    report = verify_toy("<b>&\"'", arms=("full", "other"))
    assert "<b>&" not in report.to_html()
    assert "&lt;b&gt;&amp;" in report.to_html()


def test_a_notebook_shows_the_same_fragment(saved):
    html = saved._repr_html_()
    assert html.startswith('<div class="reproseed">')
    assert html in saved.to_html()
    assert repr(saved) == "<VerifyReport FAIL: asked bitwise, reached none>"


def test_figures_are_drawn_without_pyplot(saved):
    from matplotlib.figure import Figure

    figures = saved.figures()
    assert list(figures) == ["difference", "strip", "overlay", "arms", "final"]
    assert all(isinstance(figure, Figure) for figure in figures.values())
    code = "import sys, reproseed.verify.page, reproseed.verify.study; import matplotlib.figure; "
    code += "print('matplotlib.pyplot' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"


def test_the_picture_of_differences_shows_equal_runs_at_the_foot(saved):
    (axes,) = saved.figures()["difference"].axes
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert {"full", "half", "resume", "unseeded", "other", "float32 rounding"} == set(labels)
    assert axes.get_yscale() == "log"
    floor = min(y for line in axes.get_lines() for y in line.get_ydata() if y > 0)
    assert axes.get_ylim()[0] < floor


@pytest.mark.parametrize("fault", ["fails", "no metrics", "does not stop", "constant seed"])
def test_every_verdict_has_a_page(verify_toy, fault):
    report = verify_toy(fault)
    report.save()
    Page(report.to_html())
    json.loads(report.to_json())


def test_a_run_that_failed_shows_its_output_on_the_page(verify_toy):
    text = verify_toy("fails").to_html()
    assert "KeyError: &#x27;optimizer&#x27;" in text


def test_the_tests_of_a_statistical_report_are_listed(noisy_report):
    data = noisy_report.to_dict()
    assert {t["name"] for t in data["tests"]} == {
        "Brown-Forsythe, seeded spreads less", "SD ratio, seeded / unseeded", "permutation, means differ",
        "equivalence within ±0.5 SD",
    }  # fmt: skip
    assert all(t["n"] == [8, 8] and t["applicable"] for t in data["tests"])
    assert "<h2>Tests</h2>" in noisy_report.to_html()
