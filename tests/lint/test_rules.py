import pkgutil
import re

import pytest

import reproseed.lint.rules
from reproseed.lint import all_rules, lint_source

RULES = all_rules()
LEVELS = {
    "E": "102 103 104 105 106 203 204 205 211 701 702",
    "W": "101 107 108 109 111 206 207 208 209 210 301 302 303 304 305 306 401 402 403 404 405 406 501 502 503 602",
    "I": "110 201 202 307 407 601",
}


def test_the_table_of_rules_is_complete_with_its_levels():
    wanted = {f"RS{number}": level for level, all_ in LEVELS.items() for number in all_.split()}
    assert {rule.code: rule.level for rule in RULES} == wanted


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_bad_examples_have_the_finding_and_good_ones_none_of_any_rule(rule):
    for text in rule.bad:
        assert rule.code in {f.code for f in lint_source(text, "example.py", level="I")}, text
    for text in rule.good:
        assert lint_source(text, "example.py", level="I") == [], text


def test_a_rule_says_what_was_found_and_why():
    for rule in RULES:
        assert rule.summary.endswith("."), rule.code
        assert len(rule.summary) <= 97, rule.code
        assert len(rule.why) > 80, rule.code
        assert rule.bad, rule.code
        assert rule.good, rule.code


def test_rules_name_only_what_this_library_has():
    top_level = {
        *("init", "reseed", "get_master_seed", "register_generator", "seeded", "seeded_epoch"),
        *("preserved", "current", "epochs", "steps", "stream", "state_dict", "load_state_dict"),
        *("deterministic", "data", "verify"),
    }
    for rule in RULES:
        assert set(re.findall(r"\brs\.(\w+)", rule.why)) <= top_level, rule.code


def test_every_file_of_the_folder_is_a_rule():
    names = [info.name for info in pkgutil.iter_modules(reproseed.lint.rules.__path__)]
    assert [name[:5].upper() for name in sorted(names)] == [rule.code for rule in RULES]
