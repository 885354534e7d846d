import pandas as pd
import torch


def train_epoch(model, loader, optimizer):
    model.train()
    for x in loader:
        model(x).mean().backward()
        optimizer.step()


def test_epoch(model, loader):
    model.eval()
    with torch.no_grad():
        return [model(x) for x in loader]


def main(model, loader, val_loader, optimizer, frame: pd.DataFrame):
    for epoch in range(10):
        train_epoch(model, loader, optimizer)
        test_epoch(model, val_loader)
        frame.eval("a + b")
