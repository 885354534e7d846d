import torch

torch.backends.cuda.matmul.fp32_precision = "ieee"
torch.backends.cudnn.rnn.fp32_precision = "ieee"
