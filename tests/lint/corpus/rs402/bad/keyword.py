import torch as t


def train(model, loader):
    t.use_deterministic_algorithms(mode=False)  # expect: RS402
    t.set_deterministic_debug_mode("default")  # expect: RS402
    for batch in loader:
        model(batch).mean().backward()
