"""The causes that can be named, and the rules that name them.

A rule is a function of the `Evidence` that returns a `Cause` or None. It claims nothing that it has not compared: what
differs is in its evidence, and what was equal is listed from the pairs themselves. Structure comes before values, what
was made earlier before what was made later, and the more specific rule before the more general one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from reproseed.trace.causes import data, environment, model, randomness, training
from reproseed.trace.causes.remedies import REMEDIES
from reproseed.trace.divergence import Cause
from reproseed.trace.evidence import Evidence

Rule = Callable[[Evidence], Cause | None]

NAMES = tuple(REMEDIES)

# By the kind of record that differs first: the rules to ask, in order. The first answer is the cause.
RULES: dict[str, tuple[Rule, ...]] = {
    "rng": (
        randomness.scope_seed, data.dataset_order, data.dataset_content, data.loader_config, model.mode,
        model.module_config, randomness.rewind, randomness.reseed, randomness.extra_draw,
    ),
    "indices": (
        data.sampler_epoch, data.sampler_seed, data.shuffle_generator, data.dataset_length, data.loader_config,
        randomness.before_batch, randomness.never_seeded, data.batch_order,
    ),
    "batch": (
        data.dataset_order, data.dataset_content, data.unregistered, data.loader_config, randomness.never_seeded,
        data.unlisted_content, data.unregistered_likely,
    ),
    "input": (randomness.never_seeded, data.input_edit),
    "params": (environment.environment_at_start, model.params_at_start, model.params_edited),
    "buffers": (model.buffers,),
    "output": (
        model.structure, model.mode, model.module_config, environment.environment, randomness.in_forward,
        model.unregistered, randomness.never_seeded, model.kernel,
    ),
    "loss": (training.loss,),
    "grads": (training.stale_gradients, model.module_config, environment.environment, training.backward),
    "step.grads": (training.grad_edit,),
    "optimizer": (training.optimizer_state,),
    "step.params": (training.hyperparams, environment.environment, training.optimizer_step),
    "end.params": (training.step_missing, model.params_edited),
    "end.buffers": (model.module_config, model.buffers),
}  # fmt: skip

# What else differs at the place and cannot follow from the first difference: listed after the cause.
ALSO: tuple[Rule, ...] = (model.mode, model.module_config, training.optimizer_state, training.hyperparams)


def find_causes(evidence: Evidence) -> tuple[Cause, ...]:
    """Return the causes, the most likely first; ``UNKNOWN`` with its evidence where no rule answers."""
    found: list[Cause] = []
    for rule in (model.shape, *RULES.get(evidence.first.kind, ())):
        cause = rule(evidence)
        if cause is not None:
            found.append(cause)
            break
    else:
        found.append(unknown(evidence))
    for rule in ALSO:
        cause = rule(evidence)
        if cause is not None and all(cause.name != known.name for known in found):
            found.append(replace(cause, confidence="likely"))
    return tuple(replace(cause, remedy=REMEDIES[cause.name]) for cause in found)


def unknown(evidence: Evidence) -> Cause:
    """Say what differs, where no rule can say why."""
    first = evidence.first
    parts = first.changed_keys()
    which = f" in {', '.join(parts[:6])}" if parts else ""
    return Cause("UNKNOWN", "likely", (f"{first.kind} of {first.name} differs{which}, and no rule explains it",))
