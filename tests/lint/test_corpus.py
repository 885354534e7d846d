"""The corpus has no misses and no false alarms; ``benchmarks/lint_corpus.py`` prints the table."""

import collections
import importlib.util
import pathlib
import sys

import pytest

from reproseed.lint import all_rules


def _load():
    path = pathlib.Path(__file__).parents[2] / "benchmarks" / "lint_corpus.py"
    spec = importlib.util.spec_from_file_location("lint_corpus", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["lint_corpus"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


corpus = _load()
CASES = corpus.cases()
GROUPS = sorted({case.name.split("/")[0] for case in CASES})


@pytest.mark.parametrize("group", GROUPS)
def test_every_fault_is_found_and_nothing_else(group):
    for case in CASES:
        if case.name.startswith(f"{group}/"):
            assert corpus.found(case) == corpus.expected(case), case.name


def test_right_scripts_expect_nothing():
    assert not [case.name for case in CASES if not case.is_bad and corpus.expected(case)]


def test_the_corpus_is_large_enough():
    faulty = collections.Counter(
        code for case in CASES if case.is_bad for code in {c for *_, c in corpus.expected(case)}
    )
    assert {rule.code for rule in all_rules() if faulty[rule.code] < 3} == set()
    assert sum(not case.is_bad for case in CASES) >= 60


def test_a_fault_that_no_rule_finds_counts_as_missed(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "CORPUS", tmp_path)
    for kind, text in (
        ("bad", "x = 1  # expect: RS101\nimport random\nrandom.seed()\n"),
        ("good", "import torch\ntorch.seed()\n"),
    ):
        (tmp_path / "rs101" / kind).mkdir(parents=True)
        (tmp_path / "rs101" / kind / "a.py").write_text(text)
    scores = corpus.measure()
    assert (scores["RS101"].recall, scores["RS106"].precision) == (0.0, 0.0)
    assert scores["RS101"].missed == ["rs101/bad/a.py:1"]
    assert scores["RS106"].false == ["rs101/bad/a.py:3", "rs101/good/a.py:2"]
    assert scores["RS201"].precision == scores["RS201"].recall == 1.0
