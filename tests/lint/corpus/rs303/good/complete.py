import torch
import reproseed as rs


def main(args, model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    if args.resume:
        state = torch.load(args.resume)
        for part, name in ((model, "model"), (optimizer, "optimizer")):
            part.load_state_dict(state[name])
        optimizer.load_state_dict(state["optimizer"])
        scaler.load_state_dict(state["scaler"])
        rs.load_state_dict(state["rng"])
    for epoch in rs.epochs(args.epochs):
        with rs.seeded(task="train", epoch=epoch):
            for step, batch in rs.steps(loader):
                scaler.scale(model(batch).mean()).backward()
                scaler.step(optimizer)
        torch.save({"model": model.state_dict(), "scaler": scaler.state_dict(), "rng": rs.state_dict()}, "a.pt")
