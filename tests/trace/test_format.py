"""The file format: what is written is read again, and what cannot be read says why."""

from __future__ import annotations

import gzip
import json

import pytest

from reproseed.trace.errors import TraceError, TraceFormatError
from reproseed.trace.format import Writer, check_comparable, read

HEADER = {"level": "state", "rank": 0}
PLACE = {"t": "place", "a": [{"task": "train", "epoch": 1, "step": 2}], "v": 0, "k": 0}


def write(path, records, header=HEADER):
    writer = Writer(path, header)
    for record in records:
        writer.write(record)
    writer.close()
    return path


def test_what_is_written_is_read_again(tmp_path):
    trace = read(write(tmp_path / "a.jsonl.gz", [PLACE, {"t": "loss", "n": "loss", "v": "1.5"}]))
    assert trace.header == {"format": "reproseed.trace/1", "hash": "xxh3-128", **HEADER}
    assert str(trace.places[0]) == "task=train, epoch=1, step=2"
    assert trace.places[0].records == [{"t": "loss", "n": "loss", "v": "1.5"}]


def test_equal_runs_give_equal_files(tmp_path):
    one, other = (write(tmp_path / name, [PLACE]).read_bytes() for name in ("a.jsonl.gz", "b.jsonl.gz"))
    assert one == other


def test_a_place_come_back_to_is_one_place(tmp_path):
    other = {**PLACE, "k": 1}
    note = {"t": "note", "n": "x"}
    trace = read(write(tmp_path / "a.jsonl.gz", [PLACE, note, other, note, PLACE, note]))
    assert [len(place.records) for place in trace.places] == [2, 1]


def test_of_a_run_that_was_killed_the_complete_blocks_are_read(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    writer = Writer(path, HEADER)
    writer.write(PLACE)
    writer.flush()
    writer.write({"t": "loss", "n": "loss"})
    writer.close()
    path.write_bytes(path.read_bytes()[:-5])
    assert read(path).places[0].records == []


def test_plain_json_lines_are_read_too(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"format": "reproseed.trace/1", "hash": "xxh3-128", **HEADER}) + "\n")
    assert read(path).places == []


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        pytest.param(None, "cannot read the trace .*: No such file or directory", id="missing"),
        pytest.param(b"", "is no trace: its first line is no header. Record one with", id="empty"),
        pytest.param(b"\x80abc", "is no trace: it holds no text", id="binary"),
        pytest.param(b"hello\n", "is no trace: its first line is no header", id="text"),
        pytest.param(b'{"a": 1}\n', "is no trace: its first line is no header", id="other json"),
        pytest.param(b"\x1f\x8bxxxxxxxxxxxxxxxx", "is damaged: .* Record it again", id="no gzip"),
        pytest.param(
            b'{"format": "reproseed.trace/9"}\n',
            "has the format 'reproseed.trace/9'; this version reads 'reproseed.trace/1'. Record it again",
            id="newer format",
        ),
        pytest.param(
            gzip.compress(b'{"format": "reproseed.trace/1", "hash": "x"}\n{"t": 1, oops\n'),
            "line 2, is damaged: .* Record it again",
            id="damaged line",
        ),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path, data, sentence):
    path = tmp_path / "a.jsonl.gz"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(TraceFormatError, match=sentence):
        read(path)


def test_different_hashes_cannot_be_compared(tmp_path):
    one, other = (read(write(tmp_path / name, [])) for name in ("a", "b"))
    other.header["hash"] = "md5"
    with pytest.raises(TraceFormatError, match=r"holds xxh3-128 digests and .* md5: they cannot be compared"):
        check_comparable(one, other)


def test_a_file_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "a").write_text("")
    with pytest.raises(TraceError, match=r"cannot write the trace .* Choose another file with -o"):
        Writer(tmp_path / "a" / "b.jsonl.gz", HEADER)
