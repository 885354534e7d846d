import torch
import reproseed as rs
from torch.amp import GradScaler


def resume(path, model, optimizer):
    state = torch.load(path)  # expect: RS303
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    rs.load_state_dict(state["rng"])


def train(model, loader, optimizer, path):
    grad_scaler = GradScaler("cuda")
    for step, batch in enumerate(loader):
        grad_scaler.scale(model(batch).mean()).backward()
        grad_scaler.step(optimizer)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step,
                "rng": rs.state_dict()}, path)
