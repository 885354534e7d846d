from torch.utils.data import DataLoader


def build(dataset):
    return DataLoader(dataset, num_workers=2, persistent_workers=True)
