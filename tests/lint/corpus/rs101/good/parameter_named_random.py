import random as _random


class Chooser:
    def __init__(self, random):
        self.random = random

    def restart(self, random):
        random.seed(self.start)
        return random.random()
