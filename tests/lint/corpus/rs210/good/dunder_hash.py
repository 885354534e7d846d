class Key:
    def __init__(self, name: str, index: int):
        self.name = name
        self.index = index

    def __hash__(self):
        return hash(self.name) % 1_000_003

    def slot(self, size):
        return hash(self.index) % size

    def same(self, name):
        return hash(name) == hash(self.name)
