def train(model, train_loader, sampler, num_epochs):
    for epoch in range(num_epochs):
        model.train()
        for x, y in train_loader:
            model(x, y).backward()
        sampler.set_epoch(epoch)  # expect: RS204
