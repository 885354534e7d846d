import torch
import torch._inductor.config as inductor_config

inductor_config.coordinate_descent_tuning = True  # expect: RS407
torch._inductor.config.max_autotune = True  # expect: RS407
model = torch.compile(torch.nn.Linear(2, 2), options={"max_autotune": True})  # expect: RS407
