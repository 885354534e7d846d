from data import make


def main(dataset, model):
    loader = make(dataset, 0, 2)
    for epoch in range(10):
        loader.sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).sum().backward()
