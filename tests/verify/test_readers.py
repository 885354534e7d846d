import pytest

from reproseed.verify.errors import MetricsError, MissingPackageError
from reproseed.verify.metrics import Point
from reproseed.verify.readers import MetricsSource, read_auto, read_tensorboard

FORMS = {
    "jsonl": (
        '{"step": 0, "epoch": 0, "name": "loss", "value": 0.5, "dtype": "float32"}\n\n'
        '{"step": 1, "epoch": 0, "name": "loss", "value": "nan"}\n',
        [Point("loss", 0.5, 0, 0, "float32"), Point("loss", float("nan"), 1, 0)],
    ),
    "jsonl, a key a metric": (
        '{"step": 3, "loss": 0.5, "lr": "1e-3", "note": "warm-up", "ok": true}\n',
        [Point("loss", 0.5, 3), Point("lr", 0.001, 3)],
    ),
    "csv": (
        "epoch,step,loss,acc,host\n0,0,0.1,,a\n0,1,1e-3,0.5,b\n",
        [Point("loss", 0.1, 0, 0), Point("loss", 0.001, 1, 0), Point("acc", 0.5, 1, 0)],
    ),
    "dllogger": (
        'DLLL {"timestamp": "1.5", "elapsedtime": "0.1", "type": "LOG", "step": [0, 12],'
        ' "data": {"loss": 0.25, "lr": 0.1}}\n'
        'DLLL {"type": "LOG", "step": [], "data": {"best": 1.5}}\n'
        'DLLL {"type": "LOG", "step": "PARAMETER", "data": {"name": "x"}}\n'
        'DLLL {"type": "LOG", "st',
        [Point("loss", 0.25, 12, 0), Point("lr", 0.1, 12, 0), Point("best", 1.5)],
    ),
}


def same(a, b):
    return repr(a) == repr(b)  # NaN equals NaN by its text


@pytest.mark.parametrize("form", FORMS)
def test_a_file_is_read_by_its_content(tmp_path, form):
    text, points = FORMS[form]
    (tmp_path / "metrics").write_text(text)
    assert same(read_auto(tmp_path / "metrics"), points)


@pytest.mark.parametrize(
    ("pattern", "points"),
    [
        (r"step (?P<step>\d+).*loss[ =](?P<loss>\S+)", [Point("loss", 0.5, 1), Point("loss", 2.0, 2)]),
        (r"(?P<name>\w+)=(?P<value>[\d.e-]+)", [Point("loss", 0.5), Point("acc", 0.1)]),
        (r"nothing (?P<loss>x)", []),
    ],
    ids=["metric by name", "pairs", "no match"],
)  # fmt: skip
def test_a_pattern_is_searched_in_the_output(tmp_path, pattern, points):
    output = tmp_path / "output.log"
    output.write_text("start\nstep 1: loss=0.5 acc=1e-1\nstep 2: loss 2.0\n")
    assert MetricsSource.parse(f"regex:{pattern}").read({}, tmp_path, output) == points


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("yaml", "unknown form of metrics 'yaml'; expected one of auto, jsonl"),
        ("regex:loss (", r"'loss \(', which is no regular expression"),
        (r"regex:loss=(\S+)", "which names no metric; name a group after it"),
        (r"regex:(?P<step>\d+)", "which names no metric"),
    ],
    ids=["form", "broken pattern", "no names", "no metric"],
)
def test_a_wrong_source_is_refused_before_anything_runs(source, message):
    with pytest.raises(MetricsError, match=message):
        MetricsSource.parse(source)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"name": "loss", "value": 0.5}\nloss 0.25\n', "line 2 is 'loss 0.25'; expected a JSON"),
        ('{"name": "loss", "value": "high"}\n', "line 1 has the value 'high'; expected a number"),
        ("0,0.5\n1,0.25\n", "the first line is '0,0.5'; expected a header"),
    ],
    ids=["no JSON", "no number", "no header"],
)
def test_a_file_that_cannot_be_read_is_named_with_its_line(tmp_path, text, message):
    (tmp_path / "metrics").write_text(text)
    with pytest.raises(MetricsError, match=message):
        read_auto(tmp_path / "metrics")


def test_paths_may_hold_placeholders_and_start_in_the_working_directory(tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "full.csv").write_text("step,loss\n0,0.5\n")
    source = MetricsSource.parse("csv:logs/{arm}.csv")
    assert source.read({"arm": "full"}, tmp_path, tmp_path / "o") == [Point("loss", 0.5, 0)]
    assert source.read({"arm": "half"}, tmp_path, tmp_path / "o") == []


def test_lines_of_the_output_can_be_the_source(tmp_path):
    output = tmp_path / "output.log"
    output.write_text('noise\nDLLL {"step": [0], "data": {"loss": 1.5}}\n')
    points = MetricsSource.parse("dllogger:-").read({}, tmp_path, output)
    assert points == [Point("loss", 1.5, None, 0)]


def test_event_files_are_read_in_order(tmp_path):
    pytest.importorskip("tensorboard", reason="reads TensorBoard's files with its own package")
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path)) as writer:
        for step in range(3):
            writer.add_scalar("loss", 1 / (step + 3), step)
        writer.add_text("note", "not a number")
    expected = [Point("loss", float(f"{v:.9g}"), i, None, "float32") for i, v in enumerate(
        [0.3333333432674408, 0.25, 0.20000000298023224])]  # fmt: skip
    found = read_tensorboard(tmp_path)
    assert [(p.name, p.step, p.dtype) for p in found] == [("loss", i, "float32") for i in range(3)]
    assert [p.value for p in found] == pytest.approx([p.value for p in expected], rel=1e-9)


def test_without_tensorboard_the_message_says_what_to_install(tmp_path):
    try:
        import tensorboard  # noqa: F401
    except ModuleNotFoundError:
        with pytest.raises(MissingPackageError, match="pip install tensorboard"):
            read_auto(tmp_path)
    else:
        assert read_auto(tmp_path) == []
