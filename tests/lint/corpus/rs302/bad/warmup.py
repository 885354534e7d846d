import torch
import reproseed as rs
from schedules import get_linear_schedule_with_warmup


def main(args, model, loader):
    optimizer = torch.optim.AdamW(model.parameters())
    warmup = get_linear_schedule_with_warmup(optimizer, 100, 1000)
    state = torch.load(args.resume_from)  # expect: RS302
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    rs.load_state_dict(state["rng"])
    for epoch in range(state["epoch"], args.epochs):
        for batch in loader:
            model(batch).mean().backward()
            optimizer.step()
            warmup.step()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                    "rng": rs.state_dict(), "epoch": epoch}, "a.pt")
