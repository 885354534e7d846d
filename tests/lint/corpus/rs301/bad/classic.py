import torch
import reproseed as rs


def main(args, model, loader):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    start_epoch = 0
    if args.resume:
        checkpoint = torch.load(args.resume)  # expect: RS301
        model.load_state_dict(checkpoint["model"])
        start_epoch = checkpoint["epoch"]
        rs.load_state_dict(checkpoint["rng"])
    for epoch in range(start_epoch, args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        torch.save(
            {"model": model.state_dict(), "epoch": epoch + 1, "rng": rs.state_dict()}, "last.pt"
        )
