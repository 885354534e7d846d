"""A training that reads REPROSEED_* alone, as one that uses the library does.

Its result moves with the initial weights (SD 1), the order (SD 0.1) and nothing by dropout.
"""

import os
import random
import sys

import numpy as np

from reproseed.verify import final_state, log_metric

shift = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
epochs = int(os.environ.get("REPROSEED_EPOCHS", "2"))
start = int(os.environ.get("REPROSEED_START_EPOCH", "0"))
off = os.environ.get("REPROSEED_SEEDING") == "off"
master = random.SystemRandom().getrandbits(32) if off else int(os.environ["REPROSEED_MASTER_SEED"])
chosen = dict(p.split("=") for p in os.environ.get("REPROSEED_TASK_SEEDS", "").split(",") if p)


def generator(task, *place):
    return np.random.default_rng([int(chosen.get(task, master)), len(task), *place])


weights = generator("init").normal(size=3)
if "REPROSEED_RESUME" in os.environ:
    weights = np.load(os.environ["REPROSEED_RESUME"])
for epoch in range(start, epochs):
    order = generator("order", epoch)
    for step in range(5):
        weights = weights + 0.001 * order.normal(size=3)
        noise = 0.1 * generator("order", 99).normal()
        log_metric("loss", weights[0] + noise + shift, step=epoch * 5 + step, epoch=epoch)
if "REPROSEED_SAVE" in os.environ:
    with open(os.environ["REPROSEED_SAVE"], "wb") as file:
        np.save(file, weights)
final_state(weights=weights, epochs=epochs)
