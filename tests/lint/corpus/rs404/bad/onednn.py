import torch.backends.mkldnn as mkldnn


def run(model, x):
    with mkldnn.flags(deterministic=True):  # expect: RS404
        return model(x)
