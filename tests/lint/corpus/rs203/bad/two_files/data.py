import torch.utils.data as tud


def make(dataset, rank, world):
    sampler = tud.DistributedSampler(dataset, num_replicas=world, rank=rank, seed=7)  # expect: RS203
    return tud.DataLoader(dataset, sampler=sampler)
