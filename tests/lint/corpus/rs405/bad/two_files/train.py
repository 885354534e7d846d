from torch import backends

from flags import fast

fast()
backends.fp32_precision = "ieee"  # expect: RS405
backends.mkldnn.fp32_precision = "ieee"  # expect: RS405
