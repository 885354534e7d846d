import torch


class Order:
    def __init__(self, length):
        self.length = length
        self.shuffler = torch.Generator()

    def __iter__(self):
        yield from torch.randperm(self.length, generator=self.shuffler).tolist()
