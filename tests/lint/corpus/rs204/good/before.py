def train(model, train_loader, val_loader, sampler, num_epochs):
    for epoch in range(num_epochs):
        sampler.set_epoch(epoch)
        for x, y in train_loader:
            model(x, y).backward()
        for x, y in val_loader:
            model(x, y)
