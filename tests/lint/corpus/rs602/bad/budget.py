import time


def fit(model, batches, hours):
    start = time.time()
    while time.time() - start < hours * 3600:  # expect: RS602
        model(next(batches)).mean().backward()
