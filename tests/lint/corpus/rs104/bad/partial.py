from functools import partial
import random

import numpy as np
from torch.utils.data import DataLoader


def init_fn(worker_id, num_workers, rank, seed):
    worker_seed = num_workers * rank + worker_id + seed
    np.random.seed(worker_seed)  # expect: RS104
    random.seed(worker_seed)  # expect: RS104


def build(dataset, num_workers, rank, seed):
    start = partial(init_fn, num_workers=num_workers, rank=rank, seed=seed)
    return DataLoader(
        dataset, num_workers=num_workers, worker_init_fn=partial(init_fn, rank=rank, seed=seed)
    )
