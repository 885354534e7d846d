import random

import numpy as np
import torch


def load(path, model, optimizer):
    state = torch.load(path, weights_only=False)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])
    return state["epoch"]


def train(model, loader, optimizer, path, resume, epochs):
    start_epoch = load(path, model, optimizer) if resume else 0
    for epoch in range(start_epoch, epochs):
        for batch in loader:
            model(batch).mean().backward()
        torch.save({"model": model.state_dict(), "python": random.getstate(), "epoch": epoch}, path)
