def train(model, loader, sampler, epochs):
    sampler.set_epoch(0)
    for epoch in range(epochs):
        for batch in loader:
            model(batch).backward()
        sampler.set_epoch(epoch + 1)
