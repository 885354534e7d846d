from torch.utils.data import DataLoader, DistributedSampler


def loader(dataset):
    return DataLoader(dataset, batch_size=8, sampler=DistributedSampler(dataset, shuffle=True))  # expect: RS203
