import numpy as np
from torch.utils.data import DataLoader


def build(dataset):
    return DataLoader(
        dataset,
        num_workers=4,
        worker_init_fn=lambda wid: np.random.seed(np.random.get_state()[1][0] + wid),  # expect: RS104
    )
