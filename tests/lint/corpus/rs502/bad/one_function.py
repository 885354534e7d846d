import torch


def fit(model, train_loader, val_loader, optimizer, epochs):
    model.train()
    for epoch in range(epochs):
        for x, y in train_loader:
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        model.eval()  # expect: RS502
        with torch.no_grad():
            print(epoch, sum(model(x).sum().item() for x, _ in val_loader))
