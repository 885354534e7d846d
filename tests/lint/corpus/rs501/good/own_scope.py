import reproseed as rs


@rs.seeded(task="eval", restore=True)
def evaluate(model, loader):
    return [model(batch) for batch in loader]


def validate(model, loader):
    with rs.preserved():
        for batch in loader:
            model(batch)


@rs.seeded_epoch(task="train")
def train_one_epoch(model, train_loader, val_loader, epoch):
    for step, batch in rs.steps(train_loader):
        model(batch).mean().backward()
        if step % 100 == 0:
            evaluate(model, val_loader)
            validate(model, val_loader)
            with rs.seeded(task="preview", epoch=epoch):
                for batch in val_loader:
                    model(batch)
