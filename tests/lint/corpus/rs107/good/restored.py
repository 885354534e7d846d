import torch


def continue_from(state):
    generator = torch.Generator()
    generator.set_state(state)
    return generator
