import random

import reproseed as rs

rs.init(master_seed=4)
rs.register_generator(lambda seed: random.seed(seed), name="legacy")
with rs.seeded(task="train", epoch=0):
    value = random.random()
