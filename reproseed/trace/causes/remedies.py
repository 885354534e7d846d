"""What to do about each cause."""

from __future__ import annotations

REMEDIES: dict[str, str] = {
    "ENV": "Run both with the same versions, threads, CPU capability and flags; different ones round differently.",
    "SCOPE_SEED": "Give both runs one master seed, and enter the scope at the same address.",
    "RNG_EXTRA_DRAW": "Put code that draws and is not training (evaluation, previews, logging) inside "
    "`with rs.seeded(task=..., restore=True):` or `with rs.preserved():`.",
    "RNG_REWIND": "Find what puts an old generator state back (set_rng_state, setstate, a checkpoint loaded late), "
    "and let rs.init(resume=...) do it.",
    "RNG_RESEED": "Remove the seeding call inside the run (REPROSEED_WATCH=warn shows its line); give the code a scope "
    "of its own.",
    "RNG_UNREGISTERED": "Register the generator: rs.register_generator(gen), or all with "
    "rs.register_generator(within=dataset); for datasets, wrap them in rs.data.SampleSeeded. Where nothing draws: the "
    "order of a set or of a directory, the clock.",
    "SHUFFLE_GENERATOR": "Let rs.data.seeded_loader shuffle, or seed the loader's generator from "
    "rs.stream(...).torch_generator().",
    "SAMPLER_EPOCH": "Call sampler.set_epoch(epoch) before each epoch, also of a resumed run, or use seeded_loader.",
    "SAMPLER_SEED": "Give the sampler the same seed in both runs, such as rs.stream('order', shared=True).seed(31).",
    "DATASET_ORDER": "Sort what the dataset lists (files, classes): the order of sets and of directories is not fixed.",
    "DATASET_CONTENT": "Compare the data itself: files, versions, filters and preprocessing of the two runs.",
    "LOADER_CONFIG": "Make both loaders with the same arguments; rs.data.SampleSeeded makes draws independent of the "
    "number of workers.",
    "BATCH_ORDER": "Let the sampler's order depend on seed and epoch alone, as rs.data.seeded_loader's does.",
    "INPUT_EDIT": "Look at what the script does to the batch between the loader and the model; where there is no "
    "loader, at what makes the input: a generator of the script's own, the clock, an environment.",
    "PARAMS_AT_START": "Restore the model's parameters (all of them, EMA copies too) before the first step; "
    "initialise inside a scope of its own.",
    "PARAMS_EDITED": "Look for code that writes to parameters outside of optimizer.step (clamping, EMA swaps, .data).",
    "BUFFERS": "Save and load the model's whole state_dict, buffers included.",
    "MODE": "Call model.train() after each evaluation, and model.eval() before it.",
    "MODULE_CONFIG": "Build the model with the same settings, and restore those that change during training.",
    "OPTIMIZER_STATE": "Save optimizer.state_dict() in the checkpoint and load it before the first step.",
    "HYPERPARAMS": "Save and load the scheduler, and make the optimizer with the same settings.",
    "FORWARD_KERNEL": "Record that step at level ops; ask for deterministic kernels (rs.deterministic()), and look for "
    "code in forward that depends on anything but its input.",
    "LOSS": "Look at the loss function and its weights: the model's outputs are equal.",
    "BACKWARD": "Ask for deterministic kernels (rs.deterministic()); look for custom backward functions and hooks.",
    "GRAD_EDIT": "Look at what changes gradients between backward and step: clipping, unscaling, zero_grad, hooks.",
    "OPTIMIZER_STEP": "Look at what decides whether and how the optimizer steps: accumulation, scaling, kernels.",
    "STRUCTURE": "The two runs do not call the same modules on the same shapes: compare models and control flow.",
    "UNKNOWN": "Record the step at level ops (reproseed trace --level ops --at EPOCH:STEP) and compare again.",
}
