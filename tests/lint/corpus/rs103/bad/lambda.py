import numpy as np
from torch.utils.data import DataLoader


def make_loader(dataset, generator):
    return DataLoader(
        dataset,
        batch_size=64,
        shuffle=True,
        num_workers=8,
        generator=generator,
        worker_init_fn=lambda worker_id: np.random.seed(42),  # expect: RS103
    )
