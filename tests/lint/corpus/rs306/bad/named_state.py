import torch
from tqdm import tqdm


def resume(path, model):
    state = torch.load(path)
    model.load_state_dict(state["model"])
    torch.set_rng_state(state["random"])
    return state["epoch"]


def train(model, train_loader, path):
    for epoch in range(resume(path, model), 10):
        for i, batch in enumerate(tqdm(train_loader)):
            model(batch).mean().backward()
            if i % 100 == 99:
                state = {"model": model.state_dict(), "epoch": epoch}
                state["random"] = torch.get_rng_state()
                torch.save(state, path)  # expect: RS306
