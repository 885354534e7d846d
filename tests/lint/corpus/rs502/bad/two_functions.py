import torch


def evaluate(net, loader):
    net.eval()  # expect: RS502
    with torch.no_grad():
        return sum(net(x).sum().item() for x in loader)


def train(net, loader, optimizer):
    for x in loader:
        optimizer.zero_grad()
        net(x).mean().backward()
        optimizer.step()


def main(net, loader, val_loader, optimizer):
    for epoch in range(10):
        train(net, loader, optimizer)
        print(evaluate(net, val_loader))
