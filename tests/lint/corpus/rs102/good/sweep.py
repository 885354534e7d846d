import torch


def main():
    results = {}
    for learning_rate in (1e-1, 1e-2, 1e-3):
        torch.manual_seed(0)
        model = torch.nn.Linear(10, 1)
        results[learning_rate] = fit(model, learning_rate)
    return results


def fit(model, learning_rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    return optimizer.defaults["lr"]
