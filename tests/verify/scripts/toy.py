"""A small training in NumPy that does not know reproseed, with faults to plant by `--fault`.

A linear model with a noisy input, momentum, a step schedule, a running mean (the buffer of a
normalisation, used in evaluation only), and an average of the weights.
"""

# ruff: noqa: T201 - a script prints
import argparse
import json
import random
import sys
import time
import zlib
from pathlib import Path

import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, required=True)
parser.add_argument("--seed", type=int)
parser.add_argument("--resume")
parser.add_argument("--save")
parser.add_argument("--metrics")
parser.add_argument("--fault", default="")
parser.add_argument("--digits", type=int)
parser.add_argument("--steps", type=int, default=8)
args = parser.parse_args()

if args.fault == "fails" and args.resume:
    print("loading", args.resume)
    raise KeyError("optimizer")
if args.fault == "hangs" and args.resume:
    import subprocess

    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    print("child", child.pid)
    print("waiting for a peer that never comes")
    time.sleep(600)

seed = 7 if args.fault == "constant seed" else args.seed
if args.fault == "constant fall-back" and seed is None:
    seed = 0
# Differs from run to run as the system's entropy does, yet not from one test session to the next: a
# statistical test at 5 % would else fail by chance.
entropy = zlib.crc32(Path(args.metrics or args.save or "").parent.name.encode())
master = entropy if seed is None else seed
data = np.random.default_rng(0).normal(size=(64, 5)).astype(np.float32)
target = data @ np.arange(1, 6, dtype=np.float32)

weights = np.random.default_rng([master, 0]).normal(size=5).astype(np.float32)
momentum = np.zeros(5, np.float32)
running = np.zeros(5, np.float32)
average = weights.copy()
start, rate = 0, np.float32(0.05)
if args.resume and args.fault != "ignores checkpoint":
    state = dict(np.load(args.resume))
    weights, start = state["weights"], int(state["epoch"])
    if "optimizer" not in args.fault:
        momentum = state["momentum"]
    if args.fault != "buffers":
        running = state["running"]
    if args.fault != "ema":
        average = state["average"]
else:
    average = weights.copy()

log = open(args.metrics, "a") if args.metrics and args.fault != "no metrics" else None  # noqa: SIM115


def report(name, value, step, epoch):
    value = float(value)
    if args.digits is not None:
        value = round(value, args.digits)
    if log is not None:
        line = {"step": step, "epoch": epoch, "name": name, "value": value, "dtype": "float32"}
        if args.digits is not None:
            del line["dtype"]
        log.write(json.dumps(line) + "\n")
        log.flush()


private = random.Random(entropy)
stop = 99 if args.fault == "does not stop" else args.epochs
first = 0 if args.fault == "from the start" else start
for epoch in range(first, min(stop, 4)):
    order_epoch = epoch - start if args.fault == "sampler" else epoch
    order = np.random.default_rng([master, 1, order_epoch]).permutation(64)
    noise = np.random.default_rng([master, 2, epoch])
    halvings = epoch - start if args.fault == "scheduler" else epoch
    if args.fault == "total epochs":
        halvings = 4 * epoch / args.epochs
    lr = np.float32(rate * 0.5**halvings)
    for i in range(args.steps):
        batch = order[i * 8 : i * 8 + 8]
        x = data[batch] + noise.normal(scale=0.1, size=(8, 5)).astype(np.float32)
        if args.fault == "private generator":
            x = x + np.float32(private.gauss(0, 0.1))
        if args.fault == "set order":
            names = list({"alpha", "beta", "gamma", "delta"})
            x = x + np.float32(0.01 * names.index("alpha"))
        error = x @ weights - target[batch]
        loss = np.mean(error**2)
        if "noise" in args.fault:
            loss = loss * np.float32(1 + 1e-6 * private.uniform(-1, 1))
            error = error * np.float32(1 + 1e-6 * private.uniform(-1, 1))
        momentum = np.float32(0.5) * momentum + x.T @ error / 8
        weights = weights - lr * momentum
        running = np.float32(0.9) * running + np.float32(0.1) * x.mean(0)
        average = np.float32(0.9) * average + np.float32(0.1) * weights
        report("loss", loss, epoch * args.steps + i, epoch)
    if args.fault != "no evaluation":
        shifted = (data - running) @ average
        report("eval/loss", np.mean((shifted - target) ** 2), (epoch + 1) * args.steps, epoch)
    if args.fault == "logs time":
        report("epoch_seconds", private.random(), (epoch + 1) * args.steps, epoch)
print("done")
if args.save:
    with open(args.save, "wb") as file:
        np.savez(
            file, weights=weights, momentum=momentum, running=running, average=average,
            epoch=np.int64(min(stop, 4)),
        )  # fmt: skip
