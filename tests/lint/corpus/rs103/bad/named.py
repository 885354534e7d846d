import random

import numpy as np
from torch.utils import data


def seed_loader_process(worker_id):
    np.random.seed(1234)  # expect: RS103
    random.seed(1234)  # expect: RS103


loader = data.DataLoader([1, 2, 3], num_workers=2, worker_init_fn=seed_loader_process)
