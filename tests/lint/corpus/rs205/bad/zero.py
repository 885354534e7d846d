def fit(model, loader, epochs):
    for epoch in range(epochs):
        loader.sampler.set_epoch(0)  # expect: RS205
        for batch in loader:
            model(batch).backward()
