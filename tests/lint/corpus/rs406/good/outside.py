import reproseed as rs
import torch


@torch.compile
def step(model, x):
    return model(x + torch.randn_like(x))


def train(model, batches):
    for epoch in rs.epochs(3):
        with rs.seeded(task="train", epoch=epoch):
            for number, x in rs.steps(batches):
                step(model, x)
