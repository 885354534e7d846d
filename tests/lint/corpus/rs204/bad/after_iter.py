def train(model, dataloader, epochs, steps):
    for epoch in range(epochs):
        batches = iter(dataloader)
        dataloader.sampler.set_epoch(epoch)  # expect: RS204
        for _ in range(steps):
            model(next(batches)).backward()
