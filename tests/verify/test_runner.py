import json
import os
import sys
from pathlib import Path

import pytest

from reproseed.verify.errors import UsageError
from reproseed.verify.runner import Runner
from reproseed.verify.runs import Job
from reproseed.verify.template import Template

REPORT = """
import json, os, sys
names = ("PYTHONHASHSEED", "OMP_NUM_THREADS")
env = {k: v for k, v in os.environ.items() if k.startswith("REPROSEED_") or k in names}
open("written-here", "w").write("x")
print(json.dumps({"env": env, "argv": sys.argv[1:], "cwd": os.getcwd(), "files": sorted(os.listdir("."))}))
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "x.txt").write_text("data")
    (folder / "report.py").write_text(REPORT)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("REPROSEED_MASTER_SEED", "left over")
    monkeypatch.setenv("REPROSEED_WATCH", "error")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    return folder


def job(arm="full", repeat=0, seed=7, first=0, last=4, **more):
    return Job(f"{arm}-{repeat}", arm, repeat, seed, first, last, 4, **more)


def run(out, *chains, command=(sys.executable, "report.py"), **options):
    return Runner(Template.parse(command), out, **options).run(chains)


def told(record):
    return json.loads((record.directory / "output.log").read_text())


def test_a_run_is_told_all_by_variables_and_nothing_of_the_callers(project):
    (record,) = run(Path("out"), [job()])
    env = told(record)["env"]
    out = project / "out" / "full-0"
    assert {k: v for k, v in env.items() if k.startswith("REPROSEED")} == {
        "REPROSEED_MASTER_SEED": "7",
        "REPROSEED_EPOCHS": "4",
        "REPROSEED_TOTAL_EPOCHS": "4",
        "REPROSEED_START_EPOCH": "0",
        "REPROSEED_SAVE": str(out / "checkpoint"),
        "REPROSEED_METRICS": str(out / "metrics"),
        "REPROSEED_FINAL_STATE": str(out / "final_state.json"),
        "REPROSEED_OUT": str(out / "out"),
        "REPROSEED_ARM": "full",
        "REPROSEED_REPEAT": "0",
    }


def test_the_unseeded_run_is_told_not_to_seed(project):
    (record,) = run(Path("out"), [job("unseeded", seed=None)])
    env = told(record)["env"]
    assert env["REPROSEED_SEEDING"] == "off"
    assert "REPROSEED_MASTER_SEED" not in env


def test_runs_differ_in_hash_seed_and_directory_and_not_in_threads(project):
    records = run(Path("out"), [job(repeat=0)], [job(repeat=1)], jobs=2, threads=3)
    a, b = map(told, records)
    assert a["env"]["PYTHONHASHSEED"] != b["env"]["PYTHONHASHSEED"]
    assert a["cwd"] != b["cwd"]
    assert a["env"]["OMP_NUM_THREADS"] == b["env"]["OMP_NUM_THREADS"] == "3"


def test_the_private_directory_shows_the_callers_files_and_keeps_new_ones_apart(project):
    (record,) = run(Path("out"), [job()])
    assert told(record)["files"] == ["data", "report.py", "written-here"]
    assert sorted(os.listdir(project)) == ["data", "out", "report.py"]
    assert os.listdir(record.directory / "work") == ["written-here"]
    assert (project / "data" / "x.txt").read_text() == "data"


def test_what_is_not_varied_is_equal(project):
    records = run(Path("out"), [job(repeat=0)], [job(repeat=1)], vary=())
    a, b = map(told, records)
    assert a["cwd"] == b["cwd"] == str(project)
    assert a["env"]["PYTHONHASHSEED"] == b["env"]["PYTHONHASHSEED"]


def test_relative_imports_and_modules_work_from_the_private_directory(project):
    (project / "pkg").mkdir()
    (project / "pkg" / "__init__.py").write_text("")
    (project / "pkg" / "train.py").write_text("import pkg; print('ran')")
    (record,) = run(Path("out"), [job()], command=[sys.executable, "-m", "pkg.train"])
    assert record.ok
    assert record.output_tail == "ran"


def test_a_run_whose_checkpoint_is_missing_is_skipped_and_the_rest_goes_on(project):
    chain = [job("half"), job("resume", resume_from="half-0")]
    command = [sys.executable, "report.py", "{save}", "[[{resume}]]"]
    records = run(Path("out"), chain, [job()], command=command)
    assert [r.status for r in records] == ["ok", "skipped", "ok"]
    assert records[1].problem == "not run: half-0 left no checkpoint at {save}"


def test_a_checkpoint_that_got_an_ending_is_found(project):
    (project / "save.py").write_text(
        "import sys, numpy as np\n"
        "print(sys.argv[2:]); np.savez(sys.argv[1], w=np.ones(2))\n"
        "sys.exit(len(sys.argv) == 3 and not np.load(sys.argv[2])['w'].any())"
    )
    chain = [job("half"), job("resume", resume_from="half-0")]
    command = [sys.executable, "save.py", "{save}", "[[{resume}]]"]
    records = run(Path("out"), chain, command=command)
    assert [r.status for r in records] == ["ok", "ok"]
    assert set(records[1].state.entries) == {"w"}


def test_what_an_earlier_verification_left_is_replaced(project):
    for _ in range(2):
        command = [sys.executable, "-c", "open('{metrics}', 'a').write('step,loss\\n0,1\\n')"]
        (record,) = run(Path("out"), [job()], command=command)
    assert [p.value for p in record.points] == [1.0]


def test_progress_counts_all_runs_and_estimates_the_time_left(project):
    seen = []
    run(
        Path("out"), [job(repeat=0)], [job(repeat=1)],
        progress=lambda record, done, total, left: seen.append((record.name, done, total, left)),
    )  # fmt: skip
    assert [s[:3] for s in seen] == [("full-0", 1, 2), ("full-1", 2, 2)]
    assert seen[0][3] > 0
    assert seen[1][3] == 0


def test_only_the_end_of_the_output_is_kept(project):
    command = [sys.executable, "-c", "print(*range(100000), sep='\\n')"]
    (record,) = run(Path("out"), [job()], command=command)
    assert record.output_tail.splitlines() == [str(i) for i in range(99970, 100000)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jobs": 0}, "jobs is 0; at least one"),
        ({"timeout": 0}, "timeout is 0; it must be a positive"),
        ({"vary": ("clock",)}, "cannot vary 'clock'; what can be varied: hashseed, cwd"),
        ({"threads": -1}, "threads is -1; it must be at least 1"),
    ],
    ids=["jobs", "timeout", "vary", "threads"],
)
def test_wrong_options_are_refused(tmp_path, options, message):
    with pytest.raises(UsageError, match=message):
        Runner(Template.parse("x"), tmp_path, **options)
