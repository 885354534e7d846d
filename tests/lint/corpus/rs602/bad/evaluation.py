from time import time


def fit(model, loader, evaluate):
    last = time()
    for batch in loader:
        model(batch).mean().backward()
        elapsed = time() - last
        if elapsed > 600:  # expect: RS602
            evaluate(model)
            last = time()
