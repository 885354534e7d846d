import torch


def evaluate(model, loader):
    was_training = model.training
    model.eval()
    with torch.no_grad():
        score = sum(model(x).sum().item() for x in loader)
    model.train(was_training)
    return score


def train(model, loader, val_loader, optimizer, epochs):
    for epoch in range(epochs):
        model.train()
        for x in loader:
            model(x).mean().backward()
            optimizer.step()
        model.eval()
        print(evaluate(model, val_loader))
