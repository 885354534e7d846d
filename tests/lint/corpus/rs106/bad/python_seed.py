import random


class ReplayBuffer:
    def __init__(self, size):
        self.size = size
        random.seed()  # expect: RS106

    def sample(self, count):
        return random.sample(range(self.size), count)
