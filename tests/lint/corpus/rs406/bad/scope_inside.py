import reproseed as rs
import torch


def augment(x, epoch):
    with rs.seeded(task="augment", epoch=epoch):  # expect: RS406
        return x + torch.randn_like(x)


fast_augment = torch.compile(augment)
