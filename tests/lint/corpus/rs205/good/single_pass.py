def embed(model, loader):
    loader.sampler.set_epoch(0)
    return [model(batch) for batch in loader]
