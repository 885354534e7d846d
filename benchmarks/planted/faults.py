# ruff: noqa: E501 - an edit is told as the line that it makes
"""The planted faults. `ASKED` and `LISTED` were known while the rules were written; `NEW` was planted after that."""

from __future__ import annotations

from planted.plant import Fault

D, T = "digits_cnn", "text_transformer"
REPEAT, RESUME = ("repeat",), ("resume",)
START = {"repeat": (0, 0), "resume": (2, 0)}
# Places in the scripts where something can be put in.
D_FORWARD = "            logits = model(x)\n"
D_BACKWARD = "            loss.backward()\n"
D_STEP = "            optimizer.step()\n"
D_CLIP = "            nn.utils.clip_grad_norm_(model.parameters(), 0.5)\n"
T_FORWARD = "    logits = model(x)\n"
T_BACKWARD = "    loss.backward()\n"
T_STEP = "        optimizer.step()\n"
D_IF, T_IF = "            if now == (2, 3):\n                ", "    if now == (2, 3):\n        "
T_IN_IF = "        if now == (2, 3):\n            "


def before(anchor: str, condition: str, statement: str) -> tuple[tuple[str, str], ...]:
    """Return the edit that puts a conditional statement before a line."""
    return ((anchor, f"{condition}{statement}\n{anchor}"),)


def after(anchor: str, condition: str, statement: str) -> tuple[tuple[str, str], ...]:
    """Return the edit that puts a conditional statement after a line."""
    return ((anchor, f"{anchor}{condition}{statement}\n"),)


_DRAWS_FROM_OWN = "shifts = (self.rng.randint(-1, 1), int(np.random.randint(-1, 2)))"
_DRAWS = "shifts = (random.randint(-1, 1), int(np.random.randint(-1, 2)))"
_SAMPLED = "batch_size=32, sampler=sampler, num_workers=args.workers"


def own_generator(seed: str) -> tuple[tuple[str, str], ...]:
    """Return the edit that gives the transform a generator of its own."""
    return (
        (_DRAWS, _DRAWS_FROM_OWN),
        ("        self.noise = noise\n", f"        self.noise = noise\n        self.rng = random.Random({seed})\n"),
    )


ASKED = (
    Fault("extra torch.rand in the evaluation inside an epoch", D,
          (("                evaluate(model)\n", "                evaluate(model)\n                if epoch == 2:\n                    torch.rand(1)\n"),),
          ("RNG_EXTRA_DRAW",), group="asked"),
    Fault("private random.Random in the transform, unseeded", D, own_generator(""), ("RNG_UNREGISTERED",), REPEAT, True,
          START, "asked"),
    Fault("private random.Random in the transform, seeded once", D, own_generator("7"), ("RNG_UNREGISTERED",), RESUME,
          True, START, "asked"),
    Fault("optimizer state not restored", D, (('    optimizer.load_state_dict(state["optimizer"])\n', ""),),
          ("OPTIMIZER_STATE",), RESUME, True, START, "asked"),
    Fault("sampler epoch wrong on resume", D, (("sampler.set_epoch(epoch)", "sampler.set_epoch(epoch - 2 * bool(args.resume))"),),
          ("SAMPLER_EPOCH",), RESUME, True, START, "asked"),
    Fault("shuffle generator unseeded", D,
          ((_SAMPLED, "batch_size=32, shuffle=True, generator=shuffler, num_workers=args.workers"),
           ("loader = DataLoader(train,", "shuffler = torch.Generator()\nshuffler.seed()\nloader = DataLoader(train,")),
          ("SHUFFLE_GENERATOR",), both=True, at=START, group="asked"),
    Fault("dropout seeded differently", D,
          (("        return self.head(self.drop(x.flatten(1)))", "        if self.training and now == (2, 3):\n            torch.manual_seed(5)\n        return self.head(self.drop(x.flatten(1)))"),),
          ("RNG_RESEED",), group="asked"),
    Fault("scheduler not restored", D, (('    scheduler.load_state_dict(state["scheduler"])\n', ""),
          ('    optimizer.load_state_dict(state["optimizer"])\n', '    optimizer.load_state_dict(state["optimizer"])\n    optimizer.param_groups[0]["lr"] = 2e-3\n')),
          ("HYPERPARAMS",), RESUME, True, START, "asked"),
    Fault("file list from a set", D, (("sorted({f\"{number}.png\" for number in range(192)})", "list({f\"{number}.png\" for number in range(192)})"),),
          ("DATASET_ORDER",), REPEAT, True, START, "asked", {"PYTHONHASHSEED": "2"}),
)  # fmt: skip

LISTED = (
    Fault("extra random.random before the forward pass", D, before(D_FORWARD, D_IF, "random.random()"), ("RNG_EXTRA_DRAW",)),
    Fault("extra NumPy draws after backward", D, after(D_BACKWARD, D_IF, "np.random.rand(3)"), ("RNG_EXTRA_DRAW",)),
    Fault("evaluation inside an epoch without a scope", T, before(T_FORWARD, T_IF, "next(iter(DataLoader(held_out, batch_size=4, shuffle=True)))"),
          ("RNG_EXTRA_DRAW",)),
    Fault("torch.manual_seed inside a step", T, before(T_FORWARD, T_IF, "torch.manual_seed(0)"), ("RNG_RESEED",)),
    Fault("random.seed inside a step", D, before(D_FORWARD, D_IF, "random.seed(5)"), ("RNG_RESEED",)),
    Fault("np.random.seed inside a step", D, after(D_STEP, D_IF, "np.random.seed(1)"), ("RNG_RESEED",)),
    Fault("torch state put back after the forward pass", D,
          ((D_FORWARD, f"            kept_state = torch.get_rng_state()\n{D_FORWARD}{D_IF}torch.set_rng_state(kept_state)\n"),), ("RNG_REWIND",)),
    Fault("the torch state of the step before put back", T,
          ((T_FORWARD, f"    global kept\n    if now == (2, 2):\n        kept = torch.get_rng_state()\n{T_IF}torch.set_rng_state(kept)\n{T_FORWARD}"),),
          ("RNG_REWIND",)),
    Fault("another master seed", T, (("master_seed=11", "master_seed=12"),), ("SCOPE_SEED",), REPEAT, at={"repeat": (None, None)}),
    Fault("another seed for one task", D, (("master_seed=7,", "master_seed=7, task_seeds={'train': 9},"),), ("SCOPE_SEED",), REPEAT,
          at={"repeat": (0, None)}),
    Fault("sampler seed differs", D, (("shuffle=True, seed=0", "shuffle=True, seed=1"),), ("SAMPLER_SEED",), at=START),
    Fault("set_epoch forgotten after the resume", D, (("    sampler.set_epoch(epoch)\n", "    if not args.resume:\n        sampler.set_epoch(epoch)\n"),),
          ("SAMPLER_EPOCH",), RESUME, at=START),
    Fault("one image edited", D, (("train = Digits(", "images[:192] += 0.01 * (labels[:192] == 3).view(-1, 1, 1, 1)\ntrain = Digits("),), ("DATASET_CONTENT",), at=START),
    Fault("a file is missing", D, (("for number in range(192)}", "for number in range(192) if number != 100}"),), ("DATASET_CONTENT",), at=START),
    Fault("another text", T, (("text = topics[\"assert\"] + topics[\"with\"]", "text = (topics[\"assert\"] + topics[\"with\"]).replace(\"the\", \"hte\")"),),
          ("DATASET_CONTENT",), at=START),
    Fault("another batch size", D, (("batch_size=32", "batch_size=24"),), ("LOADER_CONFIG",), REPEAT, at=START),
    Fault("another number of workers", T, (), ("LOADER_CONFIG",), at={"repeat": (0, None), "resume": (2, None)}, options=("--workers", "2")),
    Fault("another collate function", D, ((_SAMPLED, f"{_SAMPLED}, collate_fn=halved"),
          ("sampler = Dist", "def halved(samples):\n    x, y = torch.utils.data.default_collate(samples)\n    return x / 2, y\n\n\nsampler = Dist")),
          ("LOADER_CONFIG",), at=START),
    Fault("the order is drawn from a generator made on the spot", D,
          ((_SAMPLED, "batch_size=32, sampler=Own(), num_workers=args.workers"),
           ("class Net(", "class Own(torch.utils.data.Sampler):\n    def __iter__(self):\n        return iter(np.random.default_rng().permutation(192).tolist())\n\n    def __len__(self):\n        return 192\n\n\nclass Net(")),
          ("BATCH_ORDER",), both=True, at=START),
    Fault("the input is edited on the way to the model", D, before(D_FORWARD, D_IF, "x = x * 1.001"), ("INPUT_EDIT",)),
    Fault("model not restored", D, (('    model.load_state_dict(state["model"])\n', ""),), ("PARAMS_AT_START",), RESUME, True, START),
    Fault("one layer not restored", T, (('    model.load_state_dict(state["model"])\n', '    state["model"] = {k: v for k, v in state["model"].items() if "head" not in k}\n    model.load_state_dict(state["model"], strict=False)\n'),),
          ("PARAMS_AT_START",), RESUME, True, START),
    Fault("weights initialised from the clock", D, (("model = Net()\n", "model = Net()\nclock = torch.Generator()\nclock.seed()\nnn.init.normal_(model.head.weight, generator=clock)\n"),),
          ("PARAMS_AT_START",), REPEAT, True, START),
    Fault("parameters scaled after the step", D, after(D_STEP, D_IF, "model.head.weight.data.mul_(0.999)"), ("PARAMS_EDITED",)),
    Fault("batch normalisation's buffers lost", D, (('    model.load_state_dict(state["model"])\n', '    kept = {k: v for k, v in state["model"].items() if "running" not in k}\n    model.load_state_dict(kept, strict=False)\n'),),
          ("BUFFERS",), RESUME, True, START),
    Fault("a buffer is edited", D, after(D_STEP, D_IF, "model.norm.running_mean.add_(0.01)"), ("BUFFERS",)),
    Fault("evaluation mode is left on", D, before(D_FORWARD, D_IF, "model.eval()"), ("MODE",)),
    Fault("another dropout rate", T, before(T_FORWARD, T_IF, "model.layers.layers[0].dropout.p = 0.3"), ("MODULE_CONFIG",)),
    Fault("another momentum of the batch normalisation", D, before(D_FORWARD, D_IF, "model.norm.momentum = 0.2"), ("MODULE_CONFIG",)),
    Fault("another weight decay", T, before(T_STEP, T_IN_IF, 'optimizer.param_groups[0]["weight_decay"] = 0.1'), ("HYPERPARAMS",)),
    Fault("noise of 1e-6 in the forward pass", D, (("        x = self.relu(self.norm(self.conv1(x)))", "        x = self.conv1(x) * (1 + 1e-6 * (now == (2, 3)))\n        x = self.relu(self.norm(x))"),),
          ("FORWARD_KERNEL",)),
    Fault("the loss is scaled", T, before(T_BACKWARD, T_IF, "loss = loss * 1.001"), ("LOSS",)),
    Fault("a hook scales a gradient inside the graph", D, before(D_BACKWARD, D_IF, "logits.register_hook(lambda g: g * 1.001)"), ("BACKWARD",)),
    Fault("no clipping", D, ((D_CLIP, f"            if now != (2, 3):\n    {D_CLIP}"),), ("GRAD_EDIT",)),
    Fault("gradients not cleared", D, (("            optimizer.zero_grad()\n", "            if now != (2, 3):\n                optimizer.zero_grad()\n"),), ("GRAD_EDIT",)),
    Fault("an optimizer step is skipped", T, ((T_STEP, f"        if now != (2, 3):\n    {T_STEP}"),), ("OPTIMIZER_STEP",)),
    Fault("a layer is skipped", T, (("        return self.head(self.layers(self.embed(codes) + self.place, mask=mask))",
          "        x = self.embed(codes) + self.place\n        for layer in self.layers.layers[: 1 if args.resume and False or self.training and self.short else 2]:\n            x = layer(x, src_mask=mask)\n        return self.head(x)"),
          ("        super().__init__()\n        self.embed", "        super().__init__()\n        self.short = False\n        self.embed"),
          (T_FORWARD, f"    model.short = now == (2, 3)\n{T_FORWARD}")), ("STRUCTURE", "MODULE_CONFIG"), REPEAT),
    Fault("half precision", T, ((T_FORWARD, '    with torch.autocast("cpu", enabled=now == (2, 3)):\n        logits = model(x)\n    logits = logits.float()\n'),), ("STRUCTURE", "ENV")),
    Fault("another CPU capability", T, (), ("ENV",), REPEAT, at=START, env={"ATEN_CPU_CAPABILITY": "avx2"}),
    Fault("another optimizer implementation", D, (("lr=2e-3)\nscheduler", "lr=2e-3, foreach=False, fused=True)\nscheduler"),), ("HYPERPARAMS",), REPEAT, at=START),
    Fault("averaged weights not restored", D, (('    average.load_state_dict(state["average"])\n', ""),), ("PARAMS_AT_START",), RESUME, True, {"resume": (2, None)}),
)  # fmt: skip
