import torch


def backbone(model, path):
    model.load_state_dict(torch.load(path, weights_only=True), strict=False)
    return model
