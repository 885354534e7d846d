import torch


def main(args, model, loader):
    start_epoch = 0
    if args.resume:
        state = torch.load(args.resume)
        model.load_state_dict(state["model"])
        torch.set_rng_state(state["rng"])
        start_epoch = state["epoch"]
    best = 0.0
    for epoch in range(start_epoch, args.epochs):
        for batch in loader:
            model(batch).mean().backward()
        torch.save({"model": model.state_dict(), "epoch": epoch, "rng": torch.get_rng_state()}, "a.pt")
