import torch
import reproseed as rs


def main(args, model, optimizer, loader):
    state = torch.load(args.resume) if args.resume else None
    rs.init(master_seed=args.seed, resume=state and state["rng"])
    if state:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    for epoch in rs.epochs(args.epochs):
        with rs.seeded(task="train", epoch=epoch):
            for step, batch in rs.steps(loader):
                model(batch).mean().backward()
                optimizer.step()
                if step % 1000 == 0:
                    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                                "epoch": epoch, "rng": rs.state_dict()}, "mid.pt")
