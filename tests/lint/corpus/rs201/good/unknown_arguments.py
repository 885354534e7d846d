from torch.utils.data import DataLoader


def build(dataset, options):
    return DataLoader(dataset, shuffle=True, **options)
