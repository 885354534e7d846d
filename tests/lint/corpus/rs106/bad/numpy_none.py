import numpy as np
from torch.utils.data import DataLoader


def worker_init_fn(worker_id):
    np.random.seed(None)  # expect: RS106


def build(dataset):
    return DataLoader(dataset, num_workers=2, worker_init_fn=worker_init_fn)
