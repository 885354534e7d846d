from os import urandom

import torch

generator = torch.Generator()
generator.manual_seed(int.from_bytes(urandom(8), "little"))  # expect: RS105
