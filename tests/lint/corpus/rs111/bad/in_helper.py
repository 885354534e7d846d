import os
import random

import numpy as np
import torch


def seed_everything(seed):
    random.seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)  # expect: RS111
    np.random.seed(seed)
    torch.manual_seed(seed)
