import time


def fit(model, loader, optimizer):
    start = last = time.time()
    for step, batch in enumerate(loader):
        model(batch).mean().backward()
        optimizer.step()
        if time.time() - last > 10:
            print(f"step {step}, {step / (time.time() - start):.1f} steps/s")
            last = time.time()
