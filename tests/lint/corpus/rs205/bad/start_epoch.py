def fit(model, loader, sampler, start_epoch, epochs):
    for epoch in range(start_epoch, epochs):
        sampler.set_epoch(start_epoch)  # expect: RS205
        for batch in loader:
            model(batch).backward()
