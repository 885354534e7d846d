import torch


def save_checkpoint(state, path):
    torch.save(state, path)


def restart(model, optimizer, path):
    state = torch.load(path, map_location="cpu")  # expect: RS305
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"] + 1


def train(model, loader, optimizer, epochs, path):
    first = restart(model, optimizer, path)
    for epoch in range(first, epochs):
        for batch in loader:
            model(batch).mean().backward()
            optimizer.step()
        save_checkpoint({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, path)
