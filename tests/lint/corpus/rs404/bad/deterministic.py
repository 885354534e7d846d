import torch


def exact_features(model, x):
    with torch.backends.cudnn.flags(deterministic=True, benchmark=False):  # expect: RS404
        return model(x)
