from numpy import random as npr
from torch import manual_seed as fix


class Sampler:
    def draw(self, count):
        fix(self.start)  # expect: RS101
        npr.seed(self.start)  # expect: RS101
        return npr.randint(0, self.size, count)
