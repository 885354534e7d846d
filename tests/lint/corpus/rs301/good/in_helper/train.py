import torch
from torch.optim.lr_scheduler import CosineAnnealingLR

from checkpoints import restore


def main(args, model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = CosineAnnealingLR(optimizer, args.epochs)
    weights = torch.load(args.backbone)
    model.backbone.load_state_dict(weights)
    start_epoch = restore(args.resume, model, optimizer, scheduler) if args.resume else 0
    for epoch in range(start_epoch, args.epochs):
        for batch in loader:
            model(batch).mean().backward()
            optimizer.step()
        scheduler.step()
        torch.save(model.state_dict(), "weights.pt")
