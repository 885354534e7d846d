from torch.utils.data.dataloader import DataLoader


def build(dataset, workers):
    return DataLoader(  # expect: RS201
        dataset, batch_size=16, shuffle=True, num_workers=workers, generator=None
    )
