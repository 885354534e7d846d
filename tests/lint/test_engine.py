import os
import subprocess
import sys

import pytest

from reproseed.lint import LintUsageError, RuleCrashError, engine, lint_paths, lint_source

BAD = "import random\nrandom.seed()\n"


def codes(findings):
    return [f.code for f in findings]


@pytest.mark.parametrize(
    ("comment", "silenced"),
    [
        ("# reproseed: ignore", True),
        ("# reproseed: ignore[RS106]", True),
        ("# reproseed:ignore[rs106]", True),
        ("# noqa: E501  # reproseed: ignore[RS101, RS1]", True),
        ("# reproseed: ignore[RS101]", False),
        ("# reproseed: ignored", False),
        ("# nothing", False),
    ],
)
def test_a_comment_silences_its_line(comment, silenced):
    found = lint_source(f"import random\nrandom.seed()  {comment}\nrandom.seed()\n")
    assert [f.line for f in found] == ([3] if silenced else [2, 3])


def test_a_comment_on_the_first_or_the_last_line_silences_a_call_of_several():
    call = "from sklearn.utils import shuffle\nshuffle({}\n    x,\n){}\n"
    mark = "  # reproseed: ignore[RS209]"
    assert codes(lint_source(call.format("", ""))) == ["RS209"]
    assert lint_source(call.format(mark, "")) == []
    assert lint_source(call.format("", mark)) == []


@pytest.mark.parametrize(
    ("comment", "silenced"),
    [
        ("# reproseed: ignore-file", True),
        ("# reproseed: ignore-file[RS106]", True),
        ("# reproseed: ignore-file[RS2]", False),
    ],
)
def test_a_comment_silences_its_file(comment, silenced):
    assert (lint_source(f"{BAD}{comment}\n") == []) is silenced


def test_a_string_that_looks_like_a_comment_silences_nothing():
    assert codes(lint_source(BAD + 'x = """\n# reproseed: ignore-file\n"""\n')) == ["RS106"]


def test_select_and_ignore_take_codes_and_prefixes():
    text = BAD + "import os\nos.environ['PYTHONHASHSEED'] = '0'\n"
    assert codes(lint_source(text)) == ["RS106", "RS111"]
    assert codes(lint_source(text, select=["RS111"])) == ["RS111"]
    assert codes(lint_source(text, ignore=["RS11"])) == ["RS106"]
    assert codes(lint_source(text, select=["RS1"], ignore=["RS106"])) == ["RS111"]


def test_level_hides_what_is_less_grave():
    text = BAD + ("import os, torch\nos.environ['PYTHONHASHSEED'] = '0'\ntorch.cuda.manual_seed(1)\n")
    assert codes(lint_source(text, level="E")) == ["RS106"]
    assert codes(lint_source(text)) == ["RS106", "RS111"]
    assert codes(lint_source(text, level="I")) == ["RS106", "RS111", "RS110"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"level": "X"}, "level is 'X'; it must be one of E, W, I."),
        (
            {"select": ["RS9"]},
            "'RS9' is no rule and no prefix of one; rules are RS101 to RS702.",
        ),
        ({"ignore": [""]}, "'' is no rule and no prefix of one; rules are RS101 to RS702."),
    ],
)
def test_what_does_not_exist_is_refused(options, sentence):
    with pytest.raises(LintUsageError) as raised:
        lint_source("", **options)
    assert str(raised.value) == sentence


def test_a_missing_path_is_refused(tmp_path):
    with pytest.raises(LintUsageError, match=r"no-such.py': no such file or folder; check the path"):
        lint_paths([tmp_path / "no-such.py"])


@pytest.mark.parametrize(
    ("data", "code", "sentence"),
    [
        (b"def f(:\n", "RS002", "This file is not Python that parses. [invalid syntax]"),
        (b"x = 1\0\n", "RS002", "This file is not Python that parses."),
        (b"x = '\xff'\n", "RS001", "This file cannot be decoded."),
        (b"# -*- coding: no-such -*-\n", "RS001", "This file cannot be decoded."),
        (b"x = " + b"(" * 5000 + b")" * 5000, "RS002", "This file is not Python that parses."),
    ],
    ids=["syntax", "null", "bytes", "coding", "depth"],
)
def test_a_file_that_is_not_python_is_reported_and_the_others_go_on(tmp_path, data, code, sentence):
    (tmp_path / "a.py").write_bytes(data)
    (tmp_path / "b.py").write_text(BAD)
    broken, other = lint_paths([tmp_path])
    assert (broken.code, broken.level, other.code) == (code, "E", "RS106")
    assert broken.message.startswith(sentence)


def test_a_file_that_cannot_be_read_is_reported(tmp_path):
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere.py")
    (finding,) = lint_paths([tmp_path])
    assert finding.message == "This file cannot be read. [No such file or directory]"


def test_a_declared_encoding_is_honoured(tmp_path):
    (tmp_path / "a.py").write_bytes(b"# coding: latin-1\nname = '\xe9'; import random; random.seed()\n")
    (finding,) = lint_paths([tmp_path])
    assert (finding.line, finding.column) == (2, 28)


def test_columns_count_characters():
    (finding,) = lint_source("import random\nπ = 'ü'; random.seed()\n")
    assert (finding.column, finding.end_column) == (10, 23)


def test_folders_are_walked_sorted_without_what_is_not_the_projects(tmp_path):
    kept = ["a.py", "b/a.py", "b/c.py", "z.py"]
    left = [
        ".hidden/a.py",
        "build/a.py",
        "venv/a.py",
        "env2/lib/a.py",
        "x.egg-info/a.py",
        "b/a.txt",
    ]
    for name in kept + left:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(BAD)
    (tmp_path / "env2" / "pyvenv.cfg").touch()
    found = [os.path.relpath(f.path, tmp_path) for f in lint_paths([tmp_path])]
    assert found == kept
    assert len(lint_paths([tmp_path, tmp_path / "a.py"])) == len(kept)
    assert codes(lint_paths([tmp_path / ".hidden" / "a.py"])) == ["RS106"]


@pytest.mark.parametrize("pattern", ["b", "b/", "b/*", "[abc]*"])
def test_exclude_leaves_out_names_and_paths(tmp_path, monkeypatch, pattern):
    (tmp_path / "b").mkdir()
    for name in ("b/a.py", "z.py"):
        (tmp_path / name).write_text(BAD)
    monkeypatch.chdir(tmp_path)
    assert [f.path for f in lint_paths(["."], exclude=[pattern])] == ["z.py"]


def test_a_finding_that_says_more_replaces_the_general_one_at_its_place():
    text = """
import torch

def train(loader):
    for epoch in range(9):
        torch.manual_seed(0)

def build():
    torch.manual_seed(0)
"""
    assert [(f.code, f.line) for f in lint_source(text)] == [("RS102", 6), ("RS101", 9)]
    assert [f.line for f in lint_source(text, ignore=["RS102"])] == [6, 9]


def test_a_rule_that_crashes_is_named(monkeypatch):
    import dataclasses

    def crash(module, project):
        raise KeyError("x")

    rule = dataclasses.replace(engine.all_rules()[0], check=crash)
    monkeypatch.setattr(engine, "all_rules", lambda: (rule,))
    with pytest.raises(RuleCrashError) as raised:
        lint_source("", "train.py")
    assert str(raised.value) == (
        "rule RS101 failed on train.py with KeyError: 'x'. Please report it; --ignore RS101 leaves the rule out."
    )


def test_the_code_is_never_executed(tmp_path):
    witness = tmp_path / "witness"
    (tmp_path / "a.py").write_text(f"open({str(witness)!r}, 'w')\nimport a\nraise SystemExit\n")
    lint_paths([tmp_path], level="I")
    assert not witness.exists()


def test_linting_imports_neither_torch_nor_numpy():
    code = (
        "import sys, reproseed.lint as lint\n"
        "lint.lint_source('import torch\\ntorch.seed()')\n"
        "assert lint.all_rules()\n"
        "print([m for m in ('torch', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_the_collector_is_left_as_it_was():
    import gc

    lint_paths([])
    assert gc.isenabled()
    gc.disable()
    try:
        lint_paths([])
        assert not gc.isenabled()
    finally:
        gc.enable()
