import torch
import reproseed as rs


def main(args, model, optimizer, loader):
    rs.init(master_seed=args.seed)
    if args.resume:
        state = torch.load(args.resume)  # expect: RS305
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    for epoch in rs.epochs(args.epochs):
        with rs.seeded(task="train", epoch=epoch):
            for step, batch in rs.steps(loader):
                model(batch).mean().backward()
                optimizer.step()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "last.pt")
