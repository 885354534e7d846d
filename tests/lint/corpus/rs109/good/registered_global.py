import random

import reproseed as rs

CHOOSER = random.Random(0)
rs.init(master_seed=0)
rs.register_generator(CHOOSER, name="chooser")


def choose(items):
    return CHOOSER.choice(items)
