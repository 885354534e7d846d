import random

from torch.utils.data import DataLoader

WORKERS = 2


def start(_):
    random.seed(0)  # expect: RS103


def build(dataset):
    return DataLoader(
        dataset, num_workers=WORKERS, worker_init_fn=start if WORKERS > 0 else None
    )
