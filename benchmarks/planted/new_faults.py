# ruff: noqa: E501 - an edit is told as the line that it makes
"""Faults planted after the rules were frozen.

Where two names tell the same thing rightly, both are listed, and were before the first run. At first contact the step
was right in 31 of 34 arms, the cause in 32, and one wrong cause was called certain:

- the layer frozen on resume was called BACKWARD (likely): frozen parameters are recorded since;
- the images scaled in place parted one step before what was written here, rightly: the evaluation sees them;
- the learning rate from the clock had a resume arm, whose half run is a third run: its parameters do differ at the
  start, which was called so (certain). The arm is gone, and a resumed run's PARAMS_AT_START is never certain now.
"""

from __future__ import annotations

from planted.faults import (
    D_BACKWARD,
    D_FORWARD,
    D_IF,
    D_STEP,
    REPEAT,
    RESUME,
    START,
    T_BACKWARD,
    T_FORWARD,
    T_IF,
    D,
    T,
    after,
    before,
)
from planted.plant import Fault

_ODD = {"repeat": (0, 1)}

NEW: tuple[Fault, ...] = (
    Fault("noise in the collate function, from a generator made on the spot", D,
          (("batch_size=32, sampler=sampler, num", "batch_size=32, sampler=sampler, collate_fn=noisy, num"),
           ("sampler = Dist", "def noisy(samples):\n    x, y = torch.utils.data.default_collate(samples)\n    return x + float(np.random.default_rng().normal()), y\n\n\nsampler = Dist")),
          ("RNG_UNREGISTERED",), both=True, at=START, group="new"),
    Fault("other betas", T, (("lr=3e-3)", "lr=3e-3, betas=(0.9, 0.99))"),), ("HYPERPARAMS",), REPEAT, at=_ODD, group="new"),
    Fault("labels turned round", D, before(D_FORWARD, D_IF, "y = y.flip(0)"), ("LOSS", "INPUT_EDIT"), group="new"),
    Fault("a nested scope that leaves its streams behind", D,
          before(D_FORWARD, D_IF, 'with rs.seeded(task="peek", restore=False):\n                    pass'), ("RNG_RESEED",), group="new"),
    Fault("noise added to gradients", T, after(T_BACKWARD, T_IF, "model.head.weight.grad.add_(torch.randn_like(model.head.weight), alpha=1e-3)"),
          ("RNG_EXTRA_DRAW", "GRAD_EDIT"), group="new"),
    Fault("weights saved in half precision", D, (('state["model"])', '{k: v.half().float() if v.is_floating_point() else v for k, v in state["model"].items()})'),),
          ("PARAMS_AT_START",), RESUME, True, START, "new"),
    Fault("a layer frozen on resume", T, (("    scheduler.load_state_dict", "    model.head.requires_grad_(False)\n    scheduler.load_state_dict"),),
          ("STRUCTURE", "MODULE_CONFIG"), RESUME, True, START, "new"),
    Fault("another activation", D, before(D_FORWARD, D_IF, "model.relu = nn.LeakyReLU()"), ("MODULE_CONFIG", "STRUCTURE"), group="new"),
    Fault("the optimizer steps twice", D, after(D_STEP, D_IF, "optimizer.step()"), ("OPTIMIZER_STEP",), group="new"),
    Fault("learning rate from the clock", T, (("        optimizer.step()\n", "        import time\n\n        optimizer.param_groups[0][\"lr\"] *= 1 + time.time_ns() % 100_000 * 1e-9\n        optimizer.step()\n"),),
          ("HYPERPARAMS",), REPEAT, True, _ODD, "new"),
    Fault("noise from hash() of the file name", D, (("        image = self.images[number]\n", "        image = self.images[number] + hash(self.names[index]) % 7 * 0.01\n"),),
          ("DATASET_CONTENT", "RNG_UNREGISTERED"), REPEAT, True, START, "new", {"PYTHONHASHSEED": "2"}),
    Fault("the images are scaled in place during the run", D, after(D_STEP, D_IF, "images.mul_(1.01)"), ("DATASET_CONTENT",),
          group="new"),
    Fault("file list shuffled by the operating system's entropy", D, (("train = Digits(", "random.SystemRandom().shuffle(names)\ntrain = Digits("),),
          ("DATASET_ORDER",), both=True, at=START, group="new"),
    Fault("other label smoothing", T, before(T_FORWARD, T_IF, "criterion.label_smoothing = 0.1"), ("MODULE_CONFIG",), group="new"),
    Fault("another clipping threshold", D, (("parameters(), 0.5)", "parameters(), 0.25)"),), ("GRAD_EDIT",), at=START, group="new"),
    Fault("evaluation leaves its mode behind", T, (("    model.train()\n    return sum", "    return sum"),), ("MODE",), REPEAT, at={"repeat": (1, 0)}, group="new"),
    Fault("backward is called twice", D, ((D_BACKWARD, f"            loss.backward(retain_graph=True)\n{D_IF}loss.backward()\n"),),
          ("GRAD_EDIT", "BACKWARD", "STRUCTURE"), group="new"),
    Fault("a weight is edited inside forward", T, (("        mask = nn", "        if self.training and now == (2, 3):\n            self.embed.weight.data[1] += 0.01\n        mask = nn"),
          ("    now = (epoch, step)", "    global now\n    now = (epoch, step)")), ("PARAMS_EDITED", "FORWARD_KERNEL"), group="new"),
    Fault("running statistics are reset", D, before(D_FORWARD, D_IF, "model.norm.reset_running_stats()"), ("BUFFERS",), group="new"),
    Fault("the scheduler alone is not restored", T, (('    scheduler.load_state_dict(state["scheduler"])\n', ""),), ("HYPERPARAMS",), RESUME, True,
          {"resume": (2, 3)}, "new"),
)  # fmt: skip
