import reproseed as rs


def train(model, loader, epoch):
    with rs.seeded(task="train", epoch=epoch):
        for batch in rs.steps(loader):  # expect: RS702
            model(batch).mean().backward()
