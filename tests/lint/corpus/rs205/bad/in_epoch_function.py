def train_one_epoch(model, loader, epoch):
    loader.batch_sampler.set_epoch(1)  # expect: RS205
    for batch in loader:
        model(batch).backward()
