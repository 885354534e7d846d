"""Show a training that is killed in the middle of an epoch and ends with the same bits all the same.

    python examples/demo.py

Runs examples/digits.py whole; once more, killed by SIGKILL inside the second epoch; resumed in a new process; and, as
a control, with another seed. Compares weights, optimizer, every loss and all generator states bit for bit, prints a
table and a verdict, and writes demo-report/report.json and demo-report/losses.png. Then has `reproseed verify` prove
the same. Exits with 1 if anything differs that must not.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).resolve().parent
OUT = Path("demo-report")
EPOCHS = 3
TIMEOUT = 600.0  # seconds for one run; a hang is a failure


def command(name: str, *extra: str) -> list[str]:
    """Return the command of one run, with its own checkpoint and log."""
    files = ["--save", str(OUT / f"{name}.pt"), "--log", str(OUT / f"{name}.jsonl")]
    return [sys.executable, str(HERE / "digits.py"), "--epochs", str(EPOCHS), *files, *extra]


def run(name: str, *extra: str) -> None:
    """Run to the end."""
    subprocess.run(command(name, *extra), check=True, timeout=TIMEOUT, stdout=subprocess.DEVNULL)


def run_and_kill(name: str, *extra: str) -> int:
    """Start a run and kill it once it is well inside its second epoch; return the steps that it had logged."""
    with subprocess.Popen(command(name, *extra), stdout=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + TIMEOUT
            while time.monotonic() < deadline and process.poll() is None:
                records = read_log(name)
                if records and records[-1]["epoch"] == 1 and records[-1]["step"] >= 7:
                    break
                time.sleep(0.002)
        finally:
            process.send_signal(signal.SIGKILL)
    if process.returncode != -signal.SIGKILL:
        raise SystemExit(f"the run ended by itself (exit code {process.returncode}) before it could be killed")
    return len(read_log(name))


def read_log(name: str) -> list[dict[str, Any]]:
    """Return the complete lines of a run's log."""
    path = OUT / f"{name}.jsonl"
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def equal(a: Any, b: Any) -> bool:
    """Whether two parts of a checkpoint are equal, bit for bit."""
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def picture(whole: list[float], resumed: list[float], killed: int, resumed_at: int, control: list[float]) -> None:
    """Draw the losses: the whole run, the resumed one on top of it, the control beside them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(control, color="0.75", label="another seed")
    axes.plot(whole, color="tab:blue", linewidth=3, alpha=0.5, label="never stopped")
    steps = range(resumed_at, len(resumed))
    axes.plot(steps, resumed[resumed_at:], color="tab:orange", linewidth=1, label="killed, resumed in a new process")
    axes.axvline(killed - 1, color="tab:red", linestyle=":", label="SIGKILL")
    axes.set(xlabel="step", ylabel="training loss", title="Training loss of one run, stopped and not stopped")
    axes.legend()
    figure.savefig(OUT / "losses.png", dpi=120)


def main() -> int:
    """Run, compare, report."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    print(f"1/4  a whole run of {EPOCHS} epochs")
    run("whole", "--seed", "1")
    print("2/4  the same, killed by SIGKILL inside its second epoch")
    logged = run_and_kill("stopped", "--seed", "1")
    at_kill = torch.load(OUT / "stopped.pt")
    saved = len(at_kill["losses"])
    shutil.copy(OUT / "stopped.pt", OUT / "resumed.pt")
    print(f"3/4  resumed in a new process, from its last checkpoint ({saved} of {logged} steps)")
    run("resumed", "--resume", str(OUT / "stopped.pt"))
    print("4/4  a control with another seed")
    run("control", "--seed", "2")

    whole, resumed, control = (torch.load(OUT / f"{name}.pt") for name in ("whole", "resumed", "control"))
    rows = {
        "weights and buffers equal": equal(whole["model"], resumed["model"]),
        "optimizer and scheduler equal": all(equal(whole[part], resumed[part]) for part in ("optimizer", "scheduler")),
        f"all {len(whole['losses'])} losses equal": whole["losses"] == resumed["losses"],
        "all generator states equal": equal(whole["rng"]["snapshot"], resumed["rng"]["snapshot"]),
        "stopped inside an epoch": 0 < saved < len(whole["losses"]) and saved % (len(whole["losses"]) // EPOCHS) != 0,
        "another seed differs": whole["losses"] != control["losses"] and not equal(whole["model"], control["model"]),
    }
    print()
    for name, holds in rows.items():
        print(f"  {name:36} {'yes' if holds else 'NO'}")
    verdict = all(rows.values())
    picture(whole["losses"], resumed["losses"], logged, saved, control["losses"])
    report = {"verdict": verdict, "rows": rows, "killed_after_steps": logged, "resumed_after_steps": saved}
    (OUT / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    print(f"\n{'REPRODUCED' if verdict else 'NOT REPRODUCED'}: see {OUT / 'losses.png'} and {OUT / 'report.json'}")
    print("\nThe same as a proof of one command, with a page to look at (reproseed verify):\n", flush=True)
    proven = subprocess.run(verify_command(), check=False, timeout=TIMEOUT).returncode == 0
    return 0 if verdict and proven else 1


def verify_command() -> list[str]:
    """Return the command that runs the example whole, in halves, resumed, unseeded, and gives a verdict."""
    options = ["--epochs", "2", "--half", "1", "--repeats", "2", "--jobs", "2", "--threads", "1"]
    script = ["--epochs", "{epochs}", "[[--seed", "{seed}]]", "[[--resume", "{resume}]]", "--save", "{save}"]
    verify = [sys.executable, "-m", "reproseed.cli", "verify", *options, "--out", str(OUT / "verify")]
    return [*verify, "--", sys.executable, str(HERE / "digits.py"), *script]


if __name__ == "__main__":
    sys.exit(main())
