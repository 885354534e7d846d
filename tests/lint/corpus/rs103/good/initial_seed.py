import random

import numpy as np
import torch
from torch.utils.data import DataLoader


def seed_worker(worker_id):
    worker_seed = torch.initial_seed() % 2**32
    np.random.seed(worker_seed)
    random.seed(worker_seed)


def build(dataset, generator):
    return DataLoader(dataset, num_workers=4, worker_init_fn=seed_worker, generator=generator)
