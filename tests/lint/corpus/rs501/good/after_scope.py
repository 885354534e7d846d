import reproseed as rs


def fit(model, train_loader, val_loader, epochs):
    for epoch in rs.epochs(epochs):
        with rs.seeded(task="train", epoch=epoch):
            for step, batch in rs.steps(train_loader):
                model(batch).mean().backward()
        for batch in val_loader:
            model(batch)
