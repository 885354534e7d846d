import torch
import reproseed as rs
from torch.utils.data import random_split


@rs.seeded(task="eval", restore=True)
def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        return sum(model(x).sum().item() for x in loader)


def main(args, data, model):
    state = torch.load(args.resume) if args.resume else None
    rs.init(master_seed=args.seed, resume=state and state["rng"])
    generator = rs.stream("split", shared=True).torch_generator()
    train_set, val_set = random_split(data, [0.8, 0.2], generator=generator)
    loader = rs.data.seeded_loader(train_set, batch_size=64, shuffle=True, num_workers=4)
    val_loader = rs.data.seeded_loader(val_set, batch_size=64)
    optimizer = torch.optim.AdamW(model.parameters())
    if state:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    for epoch in rs.epochs(args.epochs):
        with rs.seeded(task="train", epoch=epoch):
            model.train()
            for step, x in rs.steps(loader):
                optimizer.zero_grad()
                model(x).mean().backward()
                optimizer.step()
                if step % 1000 == 0:
                    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                                "rng": rs.state_dict()}, args.out)
        rs.verify.log_metric("val", evaluate(model, val_loader), epoch=epoch)
