import torch
import reproseed as rs


def main(args, model, loader):
    if args.resume:
        state = torch.load(args.resume)
        model.load_state_dict(state["model"], strict=False)  # expect: RS307
        rs.load_state_dict(state["rng"])
    for epoch in rs.epochs(args.epochs):
        with rs.seeded(task="train", epoch=epoch):
            for step, batch in rs.steps(loader):
                model(batch).mean().backward()
        torch.save({"model": model.state_dict(), "rng": rs.state_dict()}, "last.pt")
