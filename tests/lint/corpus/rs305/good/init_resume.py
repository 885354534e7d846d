import torch
import reproseed as rs


def main(args, model, optimizer, loader):
    state = torch.load(args.resume) if args.resume else None
    rs.init(master_seed=args.seed, resume=state and state["run"])
    if state:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    for epoch in rs.epochs(args.epochs):
        with rs.seeded(task="train", epoch=epoch):
            for step, batch in rs.steps(loader):
                model(batch).mean().backward()
                optimizer.step()
        torch.save({"model": model.state_dict(), "run": rs.state_dict()}, "last.pt")
