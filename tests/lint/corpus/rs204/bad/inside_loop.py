from tqdm import tqdm


def train(model, loader, epochs):
    for epoch in range(epochs):
        for step, batch in enumerate(tqdm(loader)):
            loader.sampler.set_epoch(epoch)  # expect: RS204
            model(batch).backward()
