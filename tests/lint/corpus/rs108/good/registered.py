import numpy as np
import reproseed as rs


class Spots:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)


def main(seed):
    rs.init(master_seed=seed)
    spots = Spots(seed)
    rs.register_generator(spots.rng, name="spots")
    return spots
