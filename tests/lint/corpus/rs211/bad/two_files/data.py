from torch.utils.data import DataLoader


def build(dataset, workers):
    return DataLoader(  # expect: RS211
        dataset, num_workers=workers, persistent_workers=workers > 0, pin_memory=True
    )
