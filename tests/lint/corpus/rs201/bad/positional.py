from torch.utils.data import DataLoader as DL


def loaders(train, val):
    return DL(train, 64, True), DL(val, 64)  # expect: RS201
