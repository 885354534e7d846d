import torch.utils.data as tud


def make(dataset, rank, world):
    sampler = tud.DistributedSampler(dataset, num_replicas=world, rank=rank)
    return tud.DataLoader(dataset, sampler=sampler)
