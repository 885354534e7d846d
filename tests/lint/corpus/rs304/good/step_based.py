import torch


def main(args, model, batches):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    iter_num = 0
    if args.init_from == "resume":
        checkpoint = torch.load(args.path)
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        torch.set_rng_state(checkpoint["rng"])
        iter_num = checkpoint["iter_num"]
    while iter_num < args.max_iters:
        model(next(batches)).mean().backward()
        optimizer.step()
        iter_num += 1
    torch.save({"model": model.state_dict(), "iter_num": iter_num, "rng": torch.get_rng_state()}, args.path)
