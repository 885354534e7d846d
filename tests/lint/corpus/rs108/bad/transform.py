import random

from reproseed import init, seeded


class Flip:
    def __init__(self):
        self.coin: random.Random = random.Random(0)  # expect: RS108

    def __call__(self, image):
        return image.flip(-1) if self.coin.random() < 0.5 else image


init(master_seed=2)
with seeded(task="train", epoch=0):
    flip = Flip()
