import torch
import reproseed as rs


def main(args, model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.cuda.amp.GradScaler()
    if args.resume:
        state = torch.load(args.resume)  # expect: RS303
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        rs.load_state_dict(state["rng"])
    for epoch in rs.epochs(args.epochs):
        with rs.seeded(task="train", epoch=epoch):
            for step, batch in rs.steps(loader):
                scaler.scale(model(batch).mean()).backward()
                scaler.step(optimizer)
                scaler.update()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                    "rng": rs.state_dict()}, "last.pt")
