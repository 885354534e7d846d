import numpy as np
import torch


def worker_init_fn(worker_id):
    drawn = torch.randint(0, 2**31, (1,)).item()
    np.random.seed(drawn + worker_id)
