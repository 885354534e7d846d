import os


def train(model, loader, epochs):
    for epoch in range(epochs):
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":16:8")  # expect: RS403
        for batch in loader:
            model(batch).mean().backward()
