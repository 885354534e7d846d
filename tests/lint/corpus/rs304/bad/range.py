import torch


def main(args, model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if args.resume:
        state = torch.load(args.resume)  # expect: RS304
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["torch"])
    for epoch in range(args.epochs):
        for batch in loader:
            optimizer.zero_grad()
            model(batch).mean().backward()
            optimizer.step()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                    "torch": torch.get_rng_state()}, "last.pt")
