import torch
import torch._inductor.config

torch._inductor.config.deterministic = True
torch._inductor.config.max_autotune = False
model = torch.compile(torch.nn.Linear(2, 2), mode="reduce-overhead", options=None)
