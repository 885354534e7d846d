import reproseed as rs
import torch as t


def main(args, model, loader):
    t.manual_seed(args.seed)  # expect: RS101
    rs.init(master_seed=args.seed)
    for epoch in rs.epochs(args.epochs):
        with rs.seeded(task="train", epoch=epoch):
            for step, batch in rs.steps(loader):
                model(batch).sum().backward()
