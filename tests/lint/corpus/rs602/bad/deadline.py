import time


def fit(model, loader, optimizer, limit):
    deadline = time.monotonic() + limit
    for batch in loader:
        optimizer.zero_grad()
        model(batch).mean().backward()
        optimizer.step()
        if time.monotonic() > deadline:  # expect: RS602
            break
