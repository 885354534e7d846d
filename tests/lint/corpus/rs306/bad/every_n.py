import torch


def main(args, model, optimizer, loader):
    start_epoch = 0
    if args.resume:
        state = torch.load(args.resume)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
        start_epoch = state["epoch"]
    for epoch in range(start_epoch, args.epochs):
        for i, batch in enumerate(loader):
            model(batch).mean().backward()
            optimizer.step()
            if i % 500 == 0:
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),  # expect: RS306
                            "random": torch.get_rng_state(), "epoch": epoch}, args.out)
