import torch


def train(model, ema, loader, resume):
    epoch = 0
    if resume:
        state = torch.load(resume)
        model.load_state_dict(state["model"])
        ema.load_state_dict(state["ema"], strict=False)  # expect: RS307
        torch.set_rng_state(state["rng"])
        epoch = state["epoch"]
    for batch in loader:
        model(batch).mean().backward()
    torch.save({"model": model.state_dict(), "ema": ema.state_dict(), "epoch": epoch + 1}, "a.pt")
