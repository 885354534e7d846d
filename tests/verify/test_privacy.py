from pathlib import Path

import pytest

from reproseed.verify.privacy import Scrubber


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("{out}/full-0/metrics", "{{out}}/full-0/metrics"),
        ("open({cwd}/train.py)", "open(./train.py)"),
        ("{home}/data", "~/data"),
        (f"/{'home'}/somebody/x.py", "~/x.py"),
        ('File "/usr/lib/python3.11/json/decoder.py", line 3', 'File "…/decoder.py", line 3'),
        ("--data=/mnt/sets/images", "--data=…/images"),
        ("https://example.org/a/b", "https://example.org/a/b"),
        ("eval/loss/mean", "eval/loss/mean"),
        ("./out/x {save}/y a-b/c/d", "./out/x {save}/y a-b/c/d"),
    ],
)
def test_paths_of_this_machine_do_not_stay(tmp_path, text, clean):
    places = {"{out}": str(tmp_path), "{cwd}": str(Path.cwd()), "{home}": str(Path.home())}
    for name, place in places.items():
        text = text.replace(name, place)
    assert Scrubber(tmp_path).scrub({"k": [text]}) == {"k": [clean.replace("{{out}}", "{out}")]}


def test_what_is_no_text_stays(tmp_path):
    content = {"a": [1, 2.5, None, True], "b": {"c": "x"}}
    assert Scrubber(tmp_path).scrub(content) == content
