import random

import reproseed as rs


class Flip:
    def __init__(self):
        self.coin = random.Random(0)


def main(seed):
    rs.init(master_seed=seed)
    flip = Flip()
    rs.register_generator(within=flip)
    return flip
