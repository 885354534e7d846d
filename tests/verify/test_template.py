import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproseed.verify.errors import TemplateError
from reproseed.verify.template import PLACEHOLDERS, Template

VALUES = {"seed": "7", "epochs": "4", "save": "a b.pt"}


@pytest.mark.parametrize(
    ("command", "filled", "without_seed"),
    [
        pytest.param(["a", "--s={seed}"], ["a", "--s=7"], ["a", "--s="], id="inside an argument"),
        pytest.param(["a", "[[--s", "{seed}]]"], ["a", "--s", "7"], ["a"], id="over arguments"),
        pytest.param(["a", "[[", "--s", "{seed}", "]]"], ["a", "--s", "7"], ["a"], id="bare marks"),
        pytest.param(["a", "x[[,s={seed}]]"], ["a", "x,s=7"], ["a", "x"], id="part of an argument"),
        pytest.param(["a", "", "{epochs}"], ["a", "", "4"], ["a", "", "4"], id="empty argument"),
        pytest.param(["a", "[[", "", "{seed}]]"], ["a", "", "7"], ["a"], id="empty in a group"),
        pytest.param(["a", "{save}"], ["a", "a b.pt"], ["a", "a b.pt"], id="a space is no break"),
        pytest.param(["a", "{{seed}}"], ["a", "{seed}"], ["a", "{seed}"], id="escaped name"),
        pytest.param(["a", r"\[[1]]"], ["a", "[[1]]"], ["a", "[[1]]"], id="escaped group"),
        pytest.param(["a", '{"b": {"c": 1}}'], ["a", '{"b": {"c": 1}}'], ["a", '{"b": {"c": 1}}'],
                     id="JSON"),
        pytest.param(["a", "$HOME; rm *"], ["a", "$HOME; rm *"], ["a", "$HOME; rm *"],
                     id="nothing for a shell"),
    ],
)  # fmt: skip
def test_a_group_vanishes_with_its_placeholder(command, filled, without_seed):
    template = Template.parse(command)
    assert template.fill(VALUES) == filled
    assert template.fill(VALUES | {"seed": ""}) == without_seed


@pytest.mark.parametrize(
    ("command", "message"),
    [
        pytest.param([], "the command to verify is empty", id="empty"),
        pytest.param(["a", "{sead}"], r"unknown placeholder {sead} in the argument '{sead}'; did"
                     r" you mean {seed}\? known are epochs", id="near miss"),
        pytest.param(["a", "{foo}"], r"unknown placeholder {foo}.*write {{foo}} for the literal",
                     id="unknown"),
        pytest.param(["a", "[[{seed}"], r"the group that opens in '\[\[{seed}' is never closed",
                     id="not closed"),
        pytest.param(["a", "[[x", "[[{seed}]]]]"], "groups do not nest", id="nested"),
        pytest.param(["a", "[[--flag]]"], "holds no placeholder, so that it would never vanish",
                     id="no placeholder"),
    ],
)  # fmt: skip
def test_a_wrong_template_says_what_is_wrong_and_what_to_write(command, message):
    with pytest.raises(TemplateError, match=message):
        Template.parse(command)


def test_text_is_split_as_a_shell_would_and_printed_back():
    template = Template.parse("python t.py 'a b' [[--seed {seed}]]")
    assert template.fill(VALUES) == ["python", "t.py", "a b", "--seed", "7"]
    assert Template.parse(str(template)).fill(VALUES) == template.fill(VALUES)


@given(st.lists(st.text("ab {}[]\\'\"$", max_size=8), min_size=1))
def test_parsing_any_text_fills_or_raises_a_template_error(command):
    try:
        template = Template.parse(["x", *command])
    except TemplateError:
        return
    assert template.fill({})[0] == "x"
    assert Template.parse(str(template)) == template


@given(st.dictionaries(st.sampled_from(PLACEHOLDERS), st.text(max_size=5)))
def test_values_are_put_in_as_they_are(values):
    template = Template.parse(["x", *(f"{{{name}}}" for name in PLACEHOLDERS)])
    assert template.fill(values) == ["x", *(values.get(name, "") for name in PLACEHOLDERS)]
