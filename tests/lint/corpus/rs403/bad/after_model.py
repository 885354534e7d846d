import os

import torch


def main():
    model = torch.nn.Linear(8, 8).to("cuda")
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # expect: RS403
    torch.use_deterministic_algorithms(True)
    return model
