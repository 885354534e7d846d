import torch


class Deterministic:
    def __enter__(self):
        torch.use_deterministic_algorithms(True)

    def __exit__(self, *exc):
        torch.use_deterministic_algorithms(False)


def exact(function):
    torch.use_deterministic_algorithms(True)
    try:
        return function()
    finally:
        torch.use_deterministic_algorithms(False)
