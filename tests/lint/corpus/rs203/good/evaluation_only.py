from torch.utils.data import DataLoader, DistributedSampler


def loaders(train_set, val_set):
    val_sampler = DistributedSampler(val_set)
    test_sampler = DistributedSampler(train_set, shuffle=False)
    return DataLoader(val_set, sampler=val_sampler), DataLoader(train_set, sampler=test_sampler)
