import os

os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:16"  # expect: RS403
import torch  # noqa: E402

torch.use_deterministic_algorithms(True)
