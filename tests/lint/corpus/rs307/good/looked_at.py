import torch


def main(args, model, loader):
    state = torch.load(args.resume)
    result = model.load_state_dict(state["model"], strict=False)
    if result.missing_keys:
        raise SystemExit(f"not in the checkpoint: {result.missing_keys}")
    torch.set_rng_state(state["rng"])
    for epoch in range(state["epoch"], 10):
        for batch in loader:
            model(batch).mean().backward()
        torch.save({"model": model.state_dict(), "rng": torch.get_rng_state(), "epoch": epoch}, "a.pt")
