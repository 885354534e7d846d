def fit(model, loader, sampler, epochs):
    epoch = 0
    while epoch < epochs:
        sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).backward()
        epoch += 1
