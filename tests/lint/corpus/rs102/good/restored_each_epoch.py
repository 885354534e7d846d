import torch


def evaluate_each_epoch(model, loader, epochs):
    scores = []
    for epoch in range(epochs):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            scores.append([model(x, torch.randn(4)) for x in loader])
    return scores
