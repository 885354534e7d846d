import torch
import reproseed as rs


def restore(path, model, optimizer, scheduler):
    state = torch.load(path)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    scheduler.load_state_dict(state["scheduler"])
    rs.load_state_dict(state["rng"])
    return state["epoch"]
