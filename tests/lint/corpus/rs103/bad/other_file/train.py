from torch.utils.data import DataLoader

from workers import same_everywhere


def build(dataset):
    return DataLoader(dataset, num_workers=4, worker_init_fn=same_everywhere)
