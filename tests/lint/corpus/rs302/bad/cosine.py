import torch
import reproseed as rs
from torch.optim.lr_scheduler import CosineAnnealingLR


def main(args, model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = CosineAnnealingLR(optimizer, T_max=args.epochs)
    start_epoch = 0
    if args.resume:
        state = torch.load(args.resume)  # expect: RS302
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        rs.load_state_dict(state["rng"])
        start_epoch = state["epoch"]
    for epoch in range(start_epoch, args.epochs):
        for batch in loader:
            model(batch).mean().backward()
            optimizer.step()
        scheduler.step()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1,
                    "rng": rs.state_dict()}, "last.pt")
