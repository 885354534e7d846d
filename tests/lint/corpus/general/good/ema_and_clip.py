import copy

import torch


class Average:
    def __init__(self, model, decay=0.999):
        self.model = copy.deepcopy(model).eval()
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for kept, new in zip(self.model.parameters(), model.parameters(), strict=True):
            kept.lerp_(new, 1 - self.decay)


def step(model, average, batch, optimizer, limit=1.0):
    optimizer.zero_grad(set_to_none=True)
    loss = model(batch).mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
    optimizer.step()
    average.update(model)
    return loss.detach()
