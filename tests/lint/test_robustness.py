"""The linter neither crashes nor slows down, whatever it is given."""

import ast
import pathlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reproseed.lint import lint_paths, lint_source

CORPUS = pathlib.Path(__file__).parent / "corpus"
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
TEXTS = [path.read_text(encoding="utf-8") for path in sorted(CORPUS.rglob("*.py"))]


@given(st.sampled_from(TEXTS), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=150)
def test_a_script_with_statements_missing_or_moved_is_linted(text, random):
    """Takes the statements apart and puts some back anywhere, so that rules meet odd trees."""
    tree = ast.parse(text)
    blocks = [n.body for n in ast.walk(tree) if isinstance(getattr(n, "body", None), list)]
    statements = [s for block in blocks for s in block]
    for block in blocks:
        random.shuffle(block)
        block[:] = [s for s in block if random.random() < 0.8] or [ast.Pass()]
    tree.body += [s for s in random.sample(statements, len(statements) // 4) if s not in tree.body]
    found = lint_source(ast.unparse(ast.fix_missing_locations(tree)), "odd.py", level="I")
    assert found == sorted(found)


@given(st.text(alphabet="()[]:=,.\n #'\"\\abfor inwthdef0", max_size=60))
@settings(deadline=None, max_examples=300)
def test_any_text_is_linted_or_reported(text):
    for finding in lint_source(text, level="I"):
        assert finding.line >= 1
        assert finding.column >= 1


def test_all_corpus_files_together_are_one_odd_project():
    assert lint_paths([CORPUS], level="I")


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.py")), ids=lambda path: path.name)
def test_the_examples_have_no_finding(path):
    assert lint_paths([path]) == []
