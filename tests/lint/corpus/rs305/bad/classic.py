import torch


def main(args, model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    start_epoch = 0
    if args.resume:
        checkpoint = torch.load(args.resume)  # expect: RS305
        start_epoch = checkpoint["epoch"]
        model.load_state_dict(checkpoint["state_dict"])
        optimizer.load_state_dict(checkpoint["optimizer"])
    for epoch in range(start_epoch, args.epochs):
        for batch in loader:
            optimizer.zero_grad()
            model(batch).mean().backward()
            optimizer.step()
        torch.save({"epoch": epoch + 1, "state_dict": model.state_dict(),
                    "optimizer": optimizer.state_dict()}, "last.pt")
