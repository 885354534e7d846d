# ruff: noqa: E501 - an edit is told as the line that it makes
"""Variants of the scripts that train alike: none of them may be called a difference."""

from __future__ import annotations

from planted.plant import Fault

D, T = "digits_cnn", "text_transformer"


def _clean(name: str, script: str, *edits: tuple[str, str], **more: object) -> Fault:
    return Fault(name, script, edits, (), group="clean", **more)  # type: ignore[arg-type]  # the fields of a Fault


CLEAN = (
    _clean("as it is", D),
    _clean("as it is", T),
    _clean("more is logged", D, ("            optimizer.step()\n", "            optimizer.step()\n            print(loss.item(), model.head.weight.norm().item())\n")),
    _clean("no evaluation inside the epoch", D, ("            if step == 3:\n                evaluate(model)\n", "")),
    _clean("a preview in a scope of its own", T, ("    logits = model(x)\n", "    with rs.seeded(task=\"preview\", restore=True):\n        torch.randn(100), random.random()\n    logits = model(x)\n")),
    _clean("draws that are given back", D, ("            logits = model(x)\n", "            with rs.preserved():\n                np.random.rand(5000), torch.rand(5000), random.random()\n            logits = model(x)\n")),
    _clean("another hash seed", D, env={"PYTHONHASHSEED": "5"}, arms=("repeat",)),
    _clean("a counter in the model", T, ("        mask = nn", "        self.calls = getattr(self, \"calls\", 0) + 1\n        mask = nn"), both=True),
    _clean("a cache in the dataset", D, ("        number = int(", "        self.asked = getattr(self, \"asked\", 0) + 1\n        number = int("), both=True),
    _clean("a checkpoint after every epoch", D, ("    scheduler.step()\n", "    scheduler.step()\n    rs.state_dict(), copy.deepcopy(optimizer.state_dict()), copy.deepcopy(model)\n")),
    _clean("workers", D, ('"--workers", type=int, default=0', '"--workers", type=int, default=2'), both=True),
    _clean("generators not restored: addresses need no state", T,
           ("rs.init(master_seed=11, resume=state and state[\"rng\"])", "rs.init(master_seed=11)"),
           ("in rs.epochs(args.epochs)", "in range(2 * bool(args.resume), args.epochs)"), both=True),
    _clean("another line of code before the loaders", T, ("loader = DataLoader(train, batch", "unused = 1\n\n\nloader = DataLoader(train, batch")),
)  # fmt: skip
