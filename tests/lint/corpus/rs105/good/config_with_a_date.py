import time

import torch

config = {"seed": 5, "started": time.time(), "host": "node"}
torch.manual_seed(config["seed"])
