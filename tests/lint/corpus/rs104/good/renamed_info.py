import random

import numpy as np
from torch.utils.data import DataLoader, get_worker_info


def start(worker_id):
    me = get_worker_info()
    random.seed(me.seed + worker_id)
    np.random.seed(np.random.SeedSequence(me.seed).generate_state(4))


def build(dataset, workers):
    return DataLoader(
        dataset, num_workers=workers, worker_init_fn=start if workers > 0 else None
    )
